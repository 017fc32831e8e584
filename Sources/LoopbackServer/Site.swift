internal import NIOConcurrencyHelpers
internal import NIOCore

/// The state that is shared by the server's users and its connections.
final class Site: Sendable {
    private let state: NIOLockedValueBox<SiteState>
    private let start = ContinuousClock.now

    init(keepsRequests: Bool) {
        state = NIOLockedValueBox(SiteState(keepsRequests: keepsRequests))
    }

    func read<Value: Sendable>(_ value: (SiteState) -> Value) -> Value {
        state.withLockedValue { value($0) }
    }

    func serve(_ resource: Resource, at path: String) {
        state.withLockedValue { $0.serve(resource, at: path) }
    }

    func addConnection() -> Int {
        state.withLockedValue { $0.addConnection() }
    }

    func addBodyBytes(_ count: Int, at path: String) {
        for waiter in state.withLockedValue({ $0.addBodyBytes(count, at: path) }) { waiter.resume() }
    }

    func begin(_ request: RequestHead, connection: Int) -> Exchange {
        let now = HTTPDate.now
        let begun = state.withLockedValue { state in
            state.begin(request, connection: connection, now: now, time: ContinuousClock.now - start)
        }
        for waiter in begun.waiters { waiter.resume() }
        return Exchange(number: begun.number, path: request.path, plan: begun.plan)
    }

    func hold(_ number: Int, _ hold: SiteState.Hold) {
        state.withLockedValue { $0.hold(number, hold) }?.succeed()
    }

    func release(_ path: String) {
        for hold in state.withLockedValue({ $0.release(path) }) { hold.succeed() }
    }

    func end(_ number: Int) {
        let ended = state.withLockedValue { $0.end(number) }
        ended.hold?.fail(ChannelError.ioOnClosedChannel)
        for waiter in ended.waiters { waiter.resume() }
    }

    /// Waits until the condition holds, the site is closed, or the task is canceled.
    func wait(for condition: SiteState.Condition, at path: String) async {
        let number = state.withLockedValue { $0.addWait() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLockedValue { $0.wait(number, for: condition, at: path, continuation) }?.resume()
                // If the task was canceled before this point, the cancellation handler found no waiter.
                if Task.isCancelled { cancelWaiter(number) }
            }
        } onCancel: {
            cancelWaiter(number)
        }
    }

    func close() {
        for waiter in state.withLockedValue({ $0.close() }) { waiter.resume() }
    }

    private func cancelWaiter(_ number: Int) {
        state.withLockedValue { $0.cancelWaiter(number) }?.resume()
    }
}
