// The calls of a shard, each in a numbered place: in and out without a hash.

/// Keeps calls until they leave.
struct CallTable {
    private var places: [Call?] = []
    private var free: [Int] = []

    var count: Int { places.count - free.count }
    /// All of them; a copy, so that they may leave meanwhile.
    var all: [Call] { places.compactMap { $0 } }

    /// Takes a call in; its place.
    mutating func add(_ call: Call) -> Int {
        guard let place = free.popLast() else {
            places.append(call)
            return places.count - 1
        }
        places[place] = call
        return place
    }

    mutating func remove(at place: Int) {
        places[place] = nil
        free.append(place)
    }

    /// Who is there now; nil when nobody is.
    subscript(place: Int) -> Call? { places[place] }
}
