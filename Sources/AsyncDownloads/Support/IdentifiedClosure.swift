/// A closure that is equal to its copies only, so that a value that contains it can be compared.
struct IdentifiedClosure<Body: Sendable>: Sendable {
    /// The number of the closure, which no other closure of the process has.
    let number: Int
    let body: Body

    init(_ body: Body) {
        number = lastClosureNumber.withLock { last in
            last += 1
            return last
        }
        self.body = body
    }
}

extension IdentifiedClosure: Hashable {
    static func == (left: Self, right: Self) -> Bool { left.number == right.number }

    func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

private let lastClosureNumber = Mutex(0)
