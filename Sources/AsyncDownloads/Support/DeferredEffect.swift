/// An effect that is decided under a lock and performed after the lock is released, such as resuming a continuation.
struct DeferredEffect: Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }

    func callAsFunction() { body() }
}
