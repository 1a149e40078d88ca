// How SIP messages find their loop: by a hash that every loop computes the same.

/// Which shard a dialog belongs to.
package enum ShardChoice {
    /// FNV-1a over the Call-ID.
    package static func index(ofCallID callID: ArraySlice<UInt8>, count: Int) -> Int {
        guard count > 1 else { return 0 }
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for octet in callID { hash = (hash ^ UInt64(octet)) &* 0x0000_0100_0000_01b3 }
        return Int(hash % UInt64(count))
    }
}
