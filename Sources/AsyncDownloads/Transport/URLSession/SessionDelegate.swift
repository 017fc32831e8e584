internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Hands the callbacks of all tasks of a session, which come on one serial queue, to the handlers of their exchanges.
final class SessionDelegate: NSObject, URLSessionDataDelegate {
    /// One task's exchange, and what arrived while its handler was not ready.
    private struct Slot {
        let handler: any ExchangeHandler
        var hasHead = false
        var isCancelled = false
        /// Whether a redirect is being refused just now.
        var isRefusing = false
        var isHeld = false
        var heldBytes: [Data] = []
        var heldEnd: ExchangeEnd?
    }

    private struct State {
        var slots: [Int: Slot] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())
    /// Where the session is told things.
    let commands = SessionCommands()
    /// The clock of the callbacks, all of which come on the session's one queue.
    let clock = CallbackClock()

    /// Makes a task and registers its handler before anything of it can be reported; nil after ``close(_:)``.
    ///
    /// To be called as one of the ``commands``, of which ``close(_:)`` adds a later one.
    func makeTask(_ make: () -> URLSessionDataTask, handler: any ExchangeHandler) -> URLSessionDataTask? {
        guard state.withLock({ !$0.isClosed }) else { return nil }
        // Not under the lock, since making it may wait for the session, and the session for the lock.
        let task = make()
        state.withLock { $0.slots[task.taskIdentifier] = Slot(handler: handler) }
        return task
    }

    /// Cancels a task that has not ended.
    func cancel(_ task: URLSessionTask) {
        let isNow = state.withLock { state in
            state.slots[task.taskIdentifier]?.isCancelled = true
            return state.slots[task.taskIdentifier]?.isRefusing == false
        }
        if isNow { commands.add { task.cancel() } }
    }

    /// Lets no more tasks be made, and cancels those of the session.
    func close(_ session: URLSession) {
        // A task made in an invalidated session is a fatal error, so none is made from here on.
        state.withLock { $0.isClosed = true }
        commands.add { session.invalidateAndCancel() }
    }

    // MARK: URLSessionDataDelegate

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        defer { completionHandler(.allow) }
        // On Linux interim responses are told like final ones (RFC 9110, 15.2).
        guard let head = ResponseHead(response), !(100...199 ~= head.status.code) else { return }
        let handler = state.withLock { state in
            state.slots[dataTask.taskIdentifier]?.hasHead = true
            return state.slots[dataTask.taskIdentifier]?.handler
        }
        guard let handler else { return }
        take(clock.measure { handler.exchangeReceivedHead(head) }, of: dataTask, in: session)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let handler: (any ExchangeHandler)? = state.withLock { state in
            guard let slot = state.slots[dataTask.taskIdentifier] else { return nil }
            guard slot.isHeld else { return slot.handler }
            state.slots[dataTask.taskIdentifier]?.heldBytes.append(data)
            return nil
        }
        guard let handler else { return }
        take(clock.measure { data.withUnsafeBytes(handler.exchangeReceivedBytes) }, of: dataTask, in: session)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let hasHead = state.withLock { $0.slots[task.taskIdentifier]?.hasHead ?? false }
        let end = ExchangeEnd(error, hasHead: hasHead)
        let handler: (any ExchangeHandler)? = state.withLock { state in
            guard let slot = state.slots[task.taskIdentifier] else { return nil }
            guard slot.isHeld else {
                state.slots[task.taskIdentifier] = nil
                return slot.handler
            }
            state.slots[task.taskIdentifier]?.heldEnd = end
            return nil
        }
        guard let handler else { return }
        // On Linux a redirect that leads nowhere is not told as a response, only kept with the task.
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
        // A cancellation that came meanwhile has left it to be done here, behind the answer.
        let isCancelled = state.withLock { state in
            state.slots[task.taskIdentifier]?.isRefusing = false
            return state.slots[task.taskIdentifier]?.isCancelled ?? false
        }
        if isCancelled { commands.add { task.cancel() } }
    }

    // MARK: Holding back

    private func take(_ readiness: Readiness, of task: URLSessionTask, in session: URLSession) {
        guard case .notYet(let gate) = readiness else { return }
        state.withLock { $0.slots[task.taskIdentifier]?.isHeld = true }
        holdBack(task, true)
        // On the delegate's queue, where what was held keeps its place before what is still to come.
        gate.whenOpen { [self] in
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
                state.withLock { $0.slots[task.taskIdentifier] = nil }
                clock.measure { next.handler.exchangeEnded(end) }
                return
            }
            if let bytes = next.bytes,
                case .notYet(let gate) = clock.measure({
                    bytes.withUnsafeBytes(next.handler.exchangeReceivedBytes)
                })
            {
                take(.notYet(gate), of: task, in: session)
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
