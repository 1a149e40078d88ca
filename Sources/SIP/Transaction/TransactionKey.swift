// How messages find their transaction (RFC 3261 sections 17.1.3 and 17.2.3): by branch, sent-by and method; without the cookie by
// Call-ID, From tag, CSeq and Via, as RFC 2543 had it. The octets are hashed into 128 bits with secrets of the process, so that
// no String and no copy of them is kept and no peer can make two of them meet.

/// A hashed key: of a transaction, or of a dialog.
package struct TransactionKey: Equatable, Sendable {
    var first: UInt64
    var second: UInt64
}

/// Makes keys.
struct KeyHasher: Sendable {
    private let secrets: (UInt64, UInt64, UInt64, UInt64)

    init(using random: inout some RandomNumberGenerator) {
        secrets = (random.next() | 1, random.next() | 1, random.next(), random.next())
    }

    /// A hash in the making.
    struct State {
        var first: UInt64
        var second: UInt64
        let firstSecret: UInt64
        let secondSecret: UInt64

        @inline(__always) mutating func add(_ word: UInt64) {
            let one = (first ^ word).multipliedFullWidth(by: firstSecret)
            first = (one.high ^ one.low) &+ firstSecret
            let other = (second ^ word).multipliedFullWidth(by: secondSecret)
            second = (other.high ^ other.low) &+ secondSecret
        }

        /// Adds octets and their count; ASCII letters count as lower case when asked.
        mutating func add(_ base: UnsafePointer<UInt8>, _ range: OctetRange, ignoringCase: Bool = false) {
            var at = Int(range.start)
            let end = Int(range.end)
            add(UInt64(range.count))
            while at + 8 <= end, !ignoringCase {
                add(UnsafeRawPointer(base).loadUnaligned(fromByteOffset: at, as: UInt64.self))
                at += 8
            }
            var word: UInt64 = 0
            var taken = 0
            while at < end {
                word = word << 8 | UInt64(ignoringCase ? Octet.lower(base[at]) : base[at])
                taken += 1
                if taken == 8 {
                    add(word)
                    word = 0
                    taken = 0
                }
                at += 1
            }
            if taken > 0 { add(word) }
        }

        var key: TransactionKey { TransactionKey(first: first, second: second) }
    }

    func start() -> State {
        State(first: secrets.2, second: secrets.3, firstSecret: secrets.0, secondSecret: secrets.1)
    }

    /// The key of a client transaction: branch and the method in CSeq.
    func clientKey(_ octets: [UInt8], branch: OctetRange, method: Method) -> TransactionKey {
        var state = start()
        state.add(UInt64(method.rawValue) + 100)
        octets.withUnsafeBufferPointer { if let base = $0.baseAddress { state.add(base, branch) } }
        return state.key
    }

    /// The key of a server transaction; an ACK is looked for as an INVITE.
    func serverKey(_ message: Message, _ via: ViaParts, as method: Method) -> TransactionKey {
        message.octets.withUnsafeBufferPointer { buffer in
            let base = buffer.baseAddress!
            var state = start()
            state.add(UInt64(method.rawValue))
            if method == .other { state.add(base, message.methodRange) }
            state.add(base, via.host, ignoringCase: true)
            state.add(UInt64(via.port ?? 0))
            state.add(base, via.branch)
            if !via.hasCookie {
                state.add(UInt64(message.cSeq))
                if let callID = message.index.callID { state.add(base, callID) }
                if let from = try? message.index.from?.parts.get() { state.add(base, from.tag) }
            }
            return state.key
        }
    }

    /// The key of a dialog: its Call-ID and this end's tag.
    func dialogKey(callID: ArraySlice<UInt8>, tag: ArraySlice<UInt8>) -> TransactionKey {
        var state = start()
        for part in [callID, tag] {
            part.withUnsafeBufferPointer { if let base = $0.baseAddress { state.add(base, OctetRange(0, $0.count)) } }
        }
        return state.key
    }

    /// The key of the dialog that a message names; `tag` is this end's in it.
    func dialogKey(_ message: Message, tag: OctetRange) -> TransactionKey {
        message.octets.withUnsafeBufferPointer { buffer in
            let base = buffer.baseAddress!
            var state = start()
            state.add(base, message.index.callID ?? .none)
            state.add(base, tag)
            return state.key
        }
    }

    /// What two copies of one request that came over different ways have in common (section 8.2.2.2).
    func mergeKey(_ message: Message, fromTag: OctetRange) -> TransactionKey {
        message.octets.withUnsafeBufferPointer { buffer in
            let base = buffer.baseAddress!
            var state = start()
            state.add(UInt64(message.cSeqMethod.rawValue) + 200)
            state.add(UInt64(message.cSeq))
            state.add(base, message.index.callID ?? .none)
            state.add(base, fromTag)
            return state.key
        }
    }
}
