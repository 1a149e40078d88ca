// The transaction layer (RFC 3261 section 17): it owns all transactions of a loop, matches messages to them and runs their timers.
// Pure: messages and instants in, actions out. Receiving is in TransactionReceiving.swift, what the user sends in
// TransactionSending.swift. It does not choose destinations (RFC 3263), dialogs, or what is answered.

package import Basics

/// All transactions of one loop.
package struct TransactionLayer: Sendable {
    enum Machine: Sendable {
        case free
        case inviteClient(InviteClientMachine)
        case client(ClientMachine)
        case inviteServer(InviteServerMachine)
        case server(ServerMachine)
    }

    /// A transaction. Slots are used again; the generation tells whose turn it is.
    struct Slot: Sendable {
        var generation: UInt32 = 0
        var method = Method.other
        var machine = Machine.free
        var key = TransactionKey(first: 0, second: 0)
        /// What finds a request that comes a second way, outside of dialogs.
        var mergeKey: TransactionKey?
        /// Where requests or responses of this transaction go.
        var hop: Hop
        /// Client: the request. Server: the latest response.
        var octets: [UInt8] = []
        /// Client INVITE: the ACK for a final response other than 2xx.
        var ack: [UInt8] = []
        /// Server INVITE: the request, until a response was given, with the place it came from.
        var request: (message: Message, source: Hop)?
    }

    /// A timer's owner in the queues.
    struct Timer: Sendable {
        var slot: UInt32
        var generation: UInt32
        var timer: TransactionTimer
    }

    /// What happened to messages that nobody got, since the start.
    package struct Counters: Sendable {
        /// Requests and responses that were absorbed as repetitions.
        package var repetitions = 0
        /// Requests that were sent again because no answer came in time.
        package var retransmissions = 0
        /// Responses that belong to nothing.
        package var strayResponses = 0
        /// Messages that were dropped: malformed responses and ACKs, requests that could not be answered.
        package var dropped = 0
        /// Requests that were refused for their form, with the status.
        package var refused = 0
        /// Requests that came a second way (482).
        package var merged = 0
        /// Requests that the user refused without a transaction.
        package var stateless = 0
    }

    package let timers: TransactionTimers
    package internal(set) var counters = Counters()
    /// How many transactions there are.
    package private(set) var count = 0

    var slots: ContiguousArray<Slot> = []
    private var freeSlots: [UInt32] = []
    /// The slots of transactions, by their keys and merge keys.
    var places = KeyTable()
    private var queues = DeadlineQueues<Timer>()
    /// The queue of each timer at each number of doublings.
    private var queueOfTimer: [UInt8] = []
    /// An instant not later than the next deadline; `fire` makes it exact.
    package private(set) var wakeAt = Instant.never
    let hasher: KeyHasher
    private var random: SeededRandom
    private let branchSalt: UInt64

    /// - Parameter seed: for branches and the secrets of hashing; take a random one outside of tests.
    package init(timers: TransactionTimers = TransactionTimers(), seed: UInt64) {
        self.timers = timers
        random = SeededRandom(seed: seed)
        hasher = KeyHasher(using: &random)
        branchSalt = random.next()
        for timer in TransactionTimer.allCases {
            for doublings in 0...Self.doublingLimit {
                queueOfTimer.append(UInt8(queues.queue(for: timers.duration(timer, doublings: doublings))))
            }
        }
    }

    /// Intervals are not doubled more often than this.
    private static let doublingLimit: UInt8 = 6

    private mutating func arm(_ timer: TransactionTimer, _ place: UInt32, at now: Instant) {
        let doublings = min(doublings(Int(place)), Self.doublingLimit)
        let queue = queueOfTimer[Int(timer.rawValue) * (Int(Self.doublingLimit) + 1) + Int(doublings)]
        let owner = Timer(slot: place, generation: slots[Int(place)].generation, timer: timer)
        wakeAt.nanoseconds = min(wakeAt.nanoseconds, queues.arm(owner, in: Int(queue), at: now))
    }

    /// A new branch with the cookie, for a Via that starts a client transaction.
    package mutating func newBranch() -> [UInt8] { hexadecimal(random.next() ^ branchSalt, after: branchCookie) }

    /// A new random token of 16 hexadecimal digits: tags, Call-IDs.
    package mutating func newToken() -> [UInt8] { hexadecimal(random.next() ^ branchSalt) }

    // What the user asks by is mutating, like what it tells: a property that is asked by a method would be copied for it.

    /// What a table of dialogs finds its entries by: the Call-ID and this end's tag, hashed as transactions are.
    package mutating func dialogKey(callID: ArraySlice<UInt8>, tag: ArraySlice<UInt8>) -> TransactionKey {
        hasher.dialogKey(callID: callID, tag: tag)
    }

    /// The same for a message of the other end, which has this end's tag in To (a request) or From (a response); nil without it.
    package mutating func dialogKey(of message: Message) -> TransactionKey? {
        let party = message.isRequest ? message.index.to : message.index.from
        guard let tag = try? party?.parts.get().tag, !tag.isEmpty else { return nil }
        return hasher.dialogKey(message, tag: tag)
    }

    /// Whether a request of this end waits for its final response.
    package var awaitsResponses: Bool {
        slots.contains { slot in
            switch slot.machine {
            case .inviteClient(let machine): machine.state == .calling || machine.state == .proceeding
            case .client(let machine): machine.state == .trying || machine.state == .proceeding
            case .free, .inviteServer, .server: false
            }
        }
    }

    /// The earliest instant at which `fire` has something to do; `never` without any.
    package mutating func nextDeadline() -> Instant {
        Instant(nanoseconds: queues.nextDeadline { slots[Int($0.slot)].generation == $0.generation })
    }

    /// Runs all timers that are due.
    package mutating func fire(at now: Instant, into actions: inout [TransactionAction]) {
        while let due = queues.popDue(now) {
            guard slots[Int(due.slot)].generation == due.generation else { continue }
            let step: TransactionStep
            switch slots[Int(due.slot)].machine {
            case .free: continue
            case .inviteClient(var machine):
                step = machine.fired(due.timer)
                if step.contains(.send) { counters.retransmissions += 1 }
                slots[Int(due.slot)].machine = .inviteClient(machine)
            case .client(var machine):
                step = machine.fired(due.timer)
                if step.contains(.send) { counters.retransmissions += 1 }
                slots[Int(due.slot)].machine = .client(machine)
            case .inviteServer(var machine):
                step = machine.fired(due.timer)
                slots[Int(due.slot)].machine = .inviteServer(machine)
            case .server(var machine):
                step = machine.fired(due.timer)
                slots[Int(due.slot)].machine = .server(machine)
            }
            perform(step, due.slot, at: now, into: &actions)
        }
        wakeAt = nextDeadline()
    }

    /// The message of a transaction could not be sent.
    package mutating func transportFailed(_ id: TransactionID, at now: Instant, into actions: inout [TransactionAction]) {
        guard isLive(id) else { return }
        let step: TransactionStep
        switch slots[Int(id.slot)].machine {
        case .free: return
        case .inviteClient(var machine):
            step = machine.transportFailed()
            slots[Int(id.slot)].machine = .inviteClient(machine)
        case .client(var machine):
            step = machine.transportFailed()
            slots[Int(id.slot)].machine = .client(machine)
        case .inviteServer(var machine):
            step = machine.transportFailed()
            slots[Int(id.slot)].machine = .inviteServer(machine)
        case .server(var machine):
            step = machine.transportFailed()
            slots[Int(id.slot)].machine = .server(machine)
        }
        perform(step, id.slot, at: now, into: &actions)
    }

    /// The hop could not be reached (a refused connection, an ICMP error): every client transaction on it fails at once.
    /// Costs a walk over all transactions.
    package mutating func hopFailed(_ hop: Hop, at now: Instant, into actions: inout [TransactionAction]) {
        for index in slots.indices where slots[index].hop.isReached(by: hop) {
            switch slots[index].machine {
            case .free, .inviteServer, .server: continue
            case .inviteClient, .client: break
            }
            transportFailed(TransactionID(slot: UInt32(index), generation: slots[index].generation), at: now, into: &actions)
        }
    }

    /// True until `ended` was given out.
    package mutating func isLive(_ id: TransactionID) -> Bool {
        Int(id.slot) < slots.count && slots[Int(id.slot)].generation == id.generation
    }

    mutating func makeSlot(_ method: Method, _ machine: Machine, key: TransactionKey, hop: Hop) -> TransactionID {
        let place: UInt32
        if let free = freeSlots.popLast() {
            place = free
        } else {
            place = UInt32(slots.count)
            slots.append(Slot(hop: hop))
        }
        count += 1
        slots[Int(place)].method = method
        slots[Int(place)].machine = machine
        slots[Int(place)].key = key
        slots[Int(place)].hop = hop
        places.set(key, place)
        return TransactionID(slot: place, generation: slots[Int(place)].generation)
    }

    mutating func forget(_ place: UInt32) {
        let index = Int(place)
        places.remove(slots[index].key, place)
        if let key = slots[index].mergeKey { places.remove(key, place) }
        slots[index] = Slot(generation: slots[index].generation &+ 1, hop: slots[index].hop)
        freeSlots.append(place)
        count -= 1
    }

    /// Does what a machine asked for, except `deliver`, which is the caller's because it has the message.
    mutating func perform(
        _ step: TransactionStep, _ place: UInt32, at now: Instant, into actions: inout [TransactionAction]
    ) {
        let index = Int(place)
        let id = TransactionID(slot: place, generation: slots[index].generation)
        if step.contains(.send) { actions.append(.send(slots[index].octets, to: slots[index].hop)) }
        if step.contains(.sendACK) { actions.append(.send(slots[index].ack, to: slots[index].hop)) }
        if step.contains(.sendTrying), let (request, source) = slots[index].request {
            respond(id, status: 100, request.response(100, source: source.address), at: now, into: &actions)
        }
        var timers = step.timers
        while timers != 0 {
            let timer = TransactionTimer(rawValue: UInt8(timers.trailingZeroBitCount))!
            timers &= timers - 1
            arm(timer, place, at: now)
        }
        if step.contains(.timedOut) { actions.append(.timedOut(id)) }
        if step.contains(.transportFailed) { actions.append(.transportFailed(id)) }
        if step.contains(.ended) {
            forget(place)
            actions.append(.ended(id))
        }
    }

    private func doublings(_ index: Int) -> UInt8 {
        switch slots[index].machine {
        case .inviteClient(let machine): machine.doublings
        case .client(let machine): machine.doublings
        case .inviteServer(let machine): machine.doublings
        default: 0
        }
    }
}
