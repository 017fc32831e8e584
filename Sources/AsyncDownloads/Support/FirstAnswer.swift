/// The first of several answers, which is passed to one closure; later answers are ignored.
final class FirstAnswer<Value: Sendable>: Sendable {
    private enum State {
        /// Neither the answer nor the closure is known.
        case open
        case awaited(@Sendable (Value) -> Void)
        case given(Value)
    }

    private let state = Mutex(State.open)

    /// Whether the answer was given.
    var isGiven: Bool { state.withLock { if case .given = $0 { true } else { false } } }

    /// Sets the closure, which is called immediately if the answer was given; this method is called once.
    func whenGiven(_ body: @escaping @Sendable (Value) -> Void) {
        let value = state.withLock { state -> Value? in
            if case .given(let value) = state { return value }
            state = .awaited(body)
            return nil
        }
        if let value { body(value) }
    }

    /// Gives an answer.
    func callAsFunction(_ value: Value) {
        let body = state.withLock { state -> (@Sendable (Value) -> Void)? in
            switch state {
            case .open:
                state = .given(value)
                return nil
            case .awaited(let body):
                state = .given(value)
                return body
            case .given: return nil
            }
        }
        body?(value)
    }
}
