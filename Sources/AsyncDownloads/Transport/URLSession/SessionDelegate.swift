#if canImport(Darwin) || LinuxURLSession || !ServerStack
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// A delegate that passes the callbacks of a session's tasks, which arrive on one serial queue, to exchange handlers.
final class SessionDelegate: NSObject, URLSessionDataDelegate {
    /// The state of one task, with the events that arrived while its handler was not ready.
    private struct Slot {
        let handler: any ExchangeHandler
        /// Whether the client may present a certificate.
        var permitsIdentity = true
        var hasHead = false
        var isCancelled = false
        /// Whether the task waits for a network connection.
        var isWaiting = false
        /// Whether the completion handler of a redirect is being called to refuse the redirect.
        var isRefusing = false
        var isHeld = false
        var heldBytes: [Data] = []
        var heldEnd: ExchangeEnd?
    }

    private struct State {
        var slots: [Int: Slot] = [:]
        /// The number of exchanges that have begun and whose end was not reported.
        var exchangeCount = 0
        var isClosed = false
        /// The observation of the network path, which exists while a task waits for a connection.
        var watch: (any ScheduledAction)?

        /// Removes a task whose end is about to be reported.
        mutating func remove(_ task: URLSessionTask) {
            slots[task.taskIdentifier] = nil
            exchangeCount -= 1
        }
    }

    private let state = Mutex(State())
    /// The queue of calls to the session.
    ///
    /// On Linux, a call blocks until the session has read all available bytes, which never happens if a server sends
    /// endless trailers.
    let commands = SerialQueue()
    /// The clock that measures the callbacks on the session's serial queue.
    let clock = CallbackClock()

    private let network: (any PathMonitor)?
    /// Answers the challenges of connections; nil leaves them to the system.
    let challenge: URLSessionTransport.ChallengeHandler?

    /// Creates a delegate of one session.
    ///
    /// - Parameters:
    ///   - network: The monitor of the network path; nil on systems where tasks never wait for a connection.
    ///   - challenge: Answers the challenges of connections; nil leaves them to the system.
    init(
        network: (any PathMonitor)? = SessionDelegate.platformNetwork,
        challenge: URLSessionTransport.ChallengeHandler? = nil
    ) {
        (self.network, self.challenge) = (network, challenge)
        super.init()
    }

    deinit { state.withLock(\.watch)?.cancel() }

    /// The number of exchanges that have begun and whose end was not reported.
    var exchangeCount: Int { state.withLock(\.exchangeCount) }

    /// Counts an exchange, for which ``makeTask(_:handler:)`` is called later.
    func exchangeBegins() {
        state.withLock { $0.exchangeCount += 1 }
    }

    /// Creates a task and registers its handler before the task can report an event; returns `nil` after ``close(_:)``.
    ///
    /// Call this function only in one of the ``commands``: ``close(_:)`` prevents new tasks before it adds its command,
    /// so no task is created in an invalidated session.
    ///
    /// - Parameters:
    ///   - make: Creates the task.
    ///   - permitsIdentity: Whether the client may present a certificate.
    ///   - handler: The handler of the exchange.
    func makeTask(
        _ make: () -> URLSessionDataTask, permitsIdentity: Bool = true, handler: any ExchangeHandler
    ) -> URLSessionDataTask? {
        let mayCreate = state.withLock { state in
            if state.isClosed { state.exchangeCount -= 1 }
            return !state.isClosed
        }
        guard mayCreate else { return nil }
        // The task isn't created under the lock, because its creation may wait for the session, which may wait for the
        // lock.
        let task = make()
        state.withLock {
            $0.slots[task.taskIdentifier] = Slot(handler: handler, permitsIdentity: permitsIdentity)
        }
        return task
    }

    /// Returns whether the client may present a certificate for a task; false for a task that has ended.
    func permitsIdentity(_ task: URLSessionTask) -> Bool {
        state.withLock { $0.slots[task.taskIdentifier]?.permitsIdentity ?? false }
    }

    /// Returns the handler of a task that has not ended.
    func handler(of task: URLSessionTask) -> (any ExchangeHandler)? {
        state.withLock { $0.slots[task.taskIdentifier]?.handler }
    }

    /// Cancels a task; does nothing if it has ended.
    func cancel(_ task: URLSessionTask) {
        // During a refusal, the redirect callback cancels the task after it has refused the redirect.
        let canCancelNow = state.withLock { state in
            state.slots[task.taskIdentifier]?.isCancelled = true
            return state.slots[task.taskIdentifier]?.isRefusing == false
        }
        if canCancelNow { commands.async { task.cancel() } }
    }

    /// Prevents new tasks, and cancels the tasks of the session.
    func close(_ session: URLSession) {
        // Creating a task in an invalidated session is a fatal error.
        state.withLock { $0.isClosed = true }
        commands.async { session.invalidateAndCancel() }
    }

    // MARK: URLSessionDataDelegate

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        defer { completionHandler(.allow) }
        // On Linux, interim responses are reported like final ones (RFC 9110, 15.2).
        guard let head = ResponseHead(response), !(100...199 ~= head.status.code) else { return }
        let handler = state.withLock { state in
            state.slots[dataTask.taskIdentifier]?.hasHead = true
            return state.slots[dataTask.taskIdentifier]?.handler
        }
        guard let handler else { return }
        apply(clock.measure { handler.exchangeReceivedHead(head) }, to: dataTask, in: session)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let handler: (any ExchangeHandler)? = state.withLock { state in
            guard let slot = state.slots[dataTask.taskIdentifier] else { return nil }
            guard slot.isHeld else { return slot.handler }
            state.slots[dataTask.taskIdentifier]?.heldBytes.append(data)
            return nil
        }
        guard let handler else { return }
        apply(clock.measure { data.withUnsafeBytes(handler.exchangeReceivedBytes) }, to: dataTask, in: session)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let hasHead = state.withLock { $0.slots[task.taskIdentifier]?.hasHead ?? false }
        let end = ExchangeEnd(error, hasHead: hasHead)
        let handler: (any ExchangeHandler)? = state.withLock { state in
            guard let slot = state.slots[task.taskIdentifier] else { return nil }
            guard slot.isHeld else {
                state.remove(task)
                return slot.handler
            }
            state.slots[task.taskIdentifier]?.heldEnd = end
            return nil
        }
        guard let handler else { return }
        // On Linux, a redirect without a usable target isn't reported to the delegate; only the task has its head.
        if !hasHead, let head = task.response.flatMap(ResponseHead.init), head.status.isRedirect {
            _ = clock.measure { handler.exchangeReceivedHead(head) }
        }
        clock.measure { handler.exchangeEnded(end) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        let isAnswered = state.withLock { state in
            let isCancelled = state.slots[task.taskIdentifier]?.isCancelled ?? true
            guard !isCancelled || Self.answersCancelledRedirects else { return false }
            state.slots[task.taskIdentifier]?.isRefusing = true
            return true
        }
        guard isAnswered else { return }
        completionHandler(nil)
        // The task must be canceled after the refusal, so ``cancel(_:)`` leaves this to the present function.
        let isCancelled = state.withLock { state in
            state.slots[task.taskIdentifier]?.isRefusing = false
            return state.slots[task.taskIdentifier]?.isCancelled ?? false
        }
        if isCancelled { commands.async { task.cancel() } }
    }

    // MARK: Connectivity

    /// Reports that a task waits for a network connection; the system calls this at most once for each task.
    func taskWaits(_ task: URLSessionTask, in session: URLSession) {
        let handler = state.withLock { state in
            state.slots[task.taskIdentifier]?.isWaiting = true
            return state.slots[task.taskIdentifier]?.handler
        }
        guard let handler, let network else { return }
        clock.measure { handler.exchangeWaits(forConnectivity: true) }
        guard state.withLock({ $0.watch == nil }) else { return }
        // The system doesn't report that a task no longer waits.
        let watch = network.observe { [weak self, queue = session.delegateQueue] path in
            guard path.isSatisfied else { return }
            queue.addOperation { [weak self] in self?.connected() }
        }
        state.withLock { $0.watch = watch }
    }

    private func connected() {
        let (watch, handlers) = state.withLock { state in
            var handlers: [any ExchangeHandler] = []
            for (number, slot) in state.slots.sorted(by: { $0.key < $1.key }) where slot.isWaiting {
                state.slots[number]?.isWaiting = false
                if !slot.hasHead { handlers.append(slot.handler) }
            }
            defer { state.watch = nil }
            return (state.watch, handlers)
        }
        watch?.cancel()
        for handler in handlers { clock.measure { handler.exchangeWaits(forConnectivity: false) } }
    }

    // MARK: Back-pressure

    private func apply(_ readiness: Readiness, to task: URLSessionTask, in session: URLSession) {
        guard case .notYet(let gate) = readiness else { return }
        state.withLock { $0.slots[task.taskIdentifier]?.isHeld = true }
        holdBack(task, true)
        // The delegate's queue keeps the order: held events are delivered before later ones.
        gate.onOpen { [self] in
            session.delegateQueue.addOperation { [self] in release(task, in: session) }
        }
    }

    private func release(_ task: URLSessionTask, in session: URLSession) {
        holdBack(task, false)
        while true {
            let next: (handler: any ExchangeHandler, bytes: Data?, end: ExchangeEnd?)? = state.withLock { state in
                guard var slot = state.slots[task.taskIdentifier] else { return nil }
                defer { state.slots[task.taskIdentifier] = slot }
                if !slot.heldBytes.isEmpty { return (slot.handler, slot.heldBytes.removeFirst(), nil) }
                slot.isHeld = false
                return slot.heldEnd.map { (slot.handler, nil, $0) }
            }
            guard let next else { return }
            if let end = next.end {
                state.withLock { $0.remove(task) }
                clock.measure { next.handler.exchangeEnded(end) }
                return
            }
            if let bytes = next.bytes,
                case .notYet(let gate) = clock.measure({
                    bytes.withUnsafeBytes(next.handler.exchangeReceivedBytes)
                })
            {
                apply(.notYet(gate), to: task, in: session)
                return
            }
        }
    }
}

extension ResponseHead {
    fileprivate init?(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse else { return nil }
        var headers = HeaderFields()
        for (name, value) in response.allHeaderFields {
            guard let name = name as? String, let value = value as? String else { continue }
            headers.append(value, for: name)
        }
        self.init(status: StatusCode(response.statusCode), headers: headers)
    }
}
#endif
