/// The response to one request, determined before its first byte is sent.
struct ResponsePlan: Equatable {
    /// The status of the response; `nil` if no complete head is sent.
    private(set) var status: Int?
    private(set) var headers: HeaderFields = [:]
    private(set) var body: [BodyPart] = []
    private(set) var bytesPerSecond: Int?

    /// The actions of the connection's handler, in order; the last is ``Action/finish`` or ``Action/close(_:)``.
    private(set) var actions: [Action] = []

    /// Plans the response to a request.
    ///
    /// - Parameter resource: The resource at the path, or `nil` if there isn't one.
    init(for request: RequestHead, of resource: Resource?, step: Step = .plain, now: HTTPDate) {
        let deviations = Deviations(step)
        var draft = ResponseDraft(for: request, of: resource, deviations: deviations, now: now)
        draft.frame(for: request, framing: resource?.framing ?? .contentLength, deviations: deviations)
        status = deviations.opening == nil ? draft.status : nil
        headers = draft.headers
        body = draft.body
        bytesPerSecond = deviations.bytesPerSecond
        actions = Self.actions(of: draft, deviations: deviations)
    }

    private static func actions(of draft: ResponseDraft, deviations: Deviations) -> [Action] {
        switch deviations.opening {
        case .closed(let closing):
            return deviations.delays + [.close(closing)]
        case .garbage:
            return deviations.delays + [.send(Array("\u{16}\u{03}this is not HTTP\r\n\r\n".utf8)), .close(.orderly)]
        case .cut(let count):
            return deviations.delays + [.send(Array(draft.head.prefix(count))), .close(.orderly)]
        case nil:
            return deviations.delays + [.send(draft.head)] + bodyActions(of: draft, deviations: deviations)
        }
    }

    private static func bodyActions(of draft: ResponseDraft, deviations: Deviations) -> [Action] {
        var actions: [Action] = deviations.ignoresInput ? [.read(false)] : []
        if draft.sendsBody {
            // An empty part would be sent as the last chunk.
            var parts = draft.body.filter { $0.length > 0 }
            var sent: Int64 = 0
            for interruption in deviations.interruptions {
                let (before, after) = parts.split(at: interruption.offset - sent)
                actions += before.map { .body($0, chunked: draft.isChunked) }
                actions.append(interruption.action)
                if case .close = interruption.action { return actions }
                sent += before.reduce(0) { $0 + $1.length }
                parts = after
            }
            actions += parts.map { .body($0, chunked: draft.isChunked) }
            if draft.isChunked, !deviations.lacksLastChunk {
                actions.append(.send(Array((["0"] + deviations.trailers + ["", ""]).joined(separator: "\r\n").utf8)))
            }
        }
        if deviations.ignoresInput { actions.append(.read(true)) }
        return actions + [draft.closes ? .close(.orderly) : .finish]
    }
}

extension [BodyPart] {
    /// Returns the first bytes of the parts, at most `length`, and the rest, both without empty parts.
    fileprivate func split(at length: Int64) -> (head: [BodyPart], tail: [BodyPart]) {
        var head: [BodyPart] = []
        var tail: [BodyPart] = []
        var missing = length
        for part in self {
            let (before, after) = part.split(at: missing)
            missing -= before.length
            if before.length > 0 { head.append(before) }
            if after.length > 0 { tail.append(after) }
        }
        return (head, tail)
    }
}
