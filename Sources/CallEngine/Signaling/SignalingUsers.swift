// Who gets what becomes of a transaction or comes for a dialog: tables of one endpoint. A transaction's user lies at the number of
// its slot, a dialog's where the hash of Call-ID and tag says.

import SIP

/// The users of transactions. Numbers of slots are used again, so each entry says whose it is.
struct TransactionUsers {
    enum User {
        case nobody
        /// Gets what becomes of a client transaction.
        case client((ClientTransactionEvent) -> Void)
        /// Gets the CANCEL for a server transaction.
        case server(any DialogUser)
        /// The BYE by which this end left the dialog with this key.
        case left(TransactionKey)
        /// The same, while somebody waits for its answer.
        indirect case leaving(TransactionKey, (ClientTransactionEvent) -> Void)
    }

    private var entries: ContiguousArray<(id: TransactionID?, user: User)> = []
    /// How many transactions have a user.
    private(set) var count = 0

    subscript(id: TransactionID) -> User {
        id.place < entries.count && entries[id.place].id == id ? entries[id.place].user : .nobody
    }

    mutating func set(_ user: consuming User, of id: TransactionID) {
        while entries.count <= id.place { entries.append((nil, .nobody)) }
        if entries[id.place].id == nil { count += 1 }
        entries[id.place] = (id, user)
    }

    /// Gives out the one that is removed, so that it goes when this table is not being changed any more: nobody when the entry is another
    /// transaction's already.
    @discardableResult
    mutating func remove(_ id: TransactionID) -> User {
        guard id.place < entries.count, entries[id.place].id == id else { return .nobody }
        var user = User.nobody
        swap(&user, &entries[id.place].user)
        entries[id.place].id = nil
        count -= 1
        return user
    }

    mutating func removeAll() { self = TransactionUsers() }
}

/// The users of dialogs.
struct DialogUsers {
    private var places = KeyTable()
    private var entries: ContiguousArray<(any DialogUser)?> = []
    private var free: [UInt32] = []

    var count: Int { places.count }

    subscript(key: TransactionKey) -> (any DialogUser)? { places[key].flatMap { entries[Int($0)] } }

    mutating func set(_ user: consuming any DialogUser, of key: TransactionKey) {
        if let place = places[key] {
            entries[Int(place)] = user
        } else if let place = free.popLast() {
            entries[Int(place)] = user
            places.set(key, place)
        } else {
            places.set(key, UInt32(entries.count))
            entries.append(user)
        }
    }

    @discardableResult
    mutating func remove(_ key: TransactionKey) -> (any DialogUser)? {
        guard let place = places[key] else { return nil }
        places.remove(key, place)
        free.append(place)
        var user: (any DialogUser)?
        swap(&user, &entries[Int(place)])
        return user
    }

    func forEach(_ action: (any DialogUser) -> Void) {
        for case let user? in entries { action(user) }
    }

    mutating func removeAll() { self = DialogUsers() }
}
