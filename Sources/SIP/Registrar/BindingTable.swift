// The bindings of all users. They lie in buckets, so that a copy for the file costs one reference a bucket and changes after it copy one
// bucket only. Pure; nothing happens by itself: who owns it calls `sweep` now and then.

package import Basics

package struct BindingTable: Sendable {
    package static let bucketCount = 64
    /// By user; no user without a binding.
    package private(set) var buckets: [[String: [Binding]]]
    /// All bindings, those included that have run out and were not swept yet.
    package private(set) var count = 0
    private var nextBucket = 0

    package init() {
        buckets = Array(repeating: [:], count: Self.bucketCount)
    }

    func bucket(of user: String) -> Int {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for octet in user.utf8 { hash = (hash ^ UInt64(octet)) &* 0x0000_0100_0000_01b3 }
        return Int(hash % UInt64(Self.bucketCount))
    }

    /// The bindings of a user that have not run out.
    package func bindings(of user: String, at now: Instant) -> [Binding] {
        (buckets[bucket(of: user)][user] ?? []).filter { $0.expires > now }
    }

    /// Whose device has this epoch, and its instance as GRUUs name it; nil when it has run out, or nobody's has.
    func owner(ofEpoch epoch: UInt64, at now: Instant) -> (user: String, gr: [UInt8])? {
        for (user, bindings) in buckets[Int(epoch % UInt64(Self.bucketCount))] {
            for binding in bindings where binding.epoch == epoch && binding.expires > now {
                if let gr = binding.gr { return (user, Array(gr)) }
            }
        }
        return nil
    }

    /// Replaces the bindings of a user.
    package mutating func set(_ bindings: [Binding], of user: String) {
        let place = bucket(of: user)
        count += bindings.count - (buckets[place][user]?.count ?? 0)
        buckets[place][user] = bindings.isEmpty ? nil : bindings
    }

    /// Removes what has run out in the next bucket: called once a second, everything is looked at in a minute.
    package mutating func sweep(at now: Instant) -> [BindingChange] {
        let place = nextBucket
        nextBucket = (nextBucket + 1) % Self.bucketCount
        return remove(in: place) {
            $0.expires > now
        } told: {
            .expired(user: $0, contact: $1.contact)
        }
    }

    /// Removes the bindings whose only way was this connection (RFC 5626 section 5.3).
    package mutating func flowEnded(_ hop: Hop) -> [BindingChange] {
        guard hop.connection > 0, hop.transport != .udp else { return [] }
        var changes: [BindingChange] = []
        for place in buckets.indices {
            changes += remove(in: place) {
                $0.regID == 0 || $0.source != hop
            } told: {
                .flowEnded(user: $0, contact: $1.contact)
            }
        }
        return changes
    }

    private mutating func remove(
        in place: Int, keeping: (Binding) -> Bool, told: (String, Binding) -> BindingChange
    ) -> [BindingChange] {
        var changes: [BindingChange] = []
        for (user, bindings) in buckets[place] where !bindings.allSatisfy(keeping) {
            changes += bindings.filter { !keeping($0) }.map { told(user, $0) }
            set(bindings.filter(keeping), of: user)
        }
        return changes
    }
}
