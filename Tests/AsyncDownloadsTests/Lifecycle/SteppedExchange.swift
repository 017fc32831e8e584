import AsyncDownloads
import Foundation
import LoopbackServer

/// The object that the simulated server behind a ``SteppedTransport`` has.
struct SteppedObject: Sendable, Hashable {
    var content: Content
    /// A strong entity tag with its quotation marks.
    var tag: String
}

/// An exchange of a ``SteppedTransport``.
///
/// One thread at a time may step it; any thread may cancel it.
final class SteppedExchange: Exchange {
    private struct State {
        var object: SteppedObject?
        var position: Int64 = 0
        /// The offset at which the body started.
        var start: Int64 = 0
        /// The offset at which the body ends.
        var end: Int64 = 0
        var isHeldBack = false
        var isCancelled = false
        var hasEnded = false
        var endsWhenCancelled = false
        /// The steps to perform in order when the body may be delivered again.
        var backlog: [@Sendable () -> Void] = []
        /// Whether a thread performs the steps of the backlog, which later steps have to wait for.
        var isCatchingUp = false

        /// Returns the next step of the backlog, or ends catching up.
        mutating func nextStep() -> (@Sendable () -> Void)? {
            isCatchingUp = !isHeldBack && !backlog.isEmpty
            return isCatchingUp ? backlog.removeFirst() : nil
        }
    }

    let request: ExchangeRequest
    /// Whether the exchange was started beside another one of the same file.
    let hasNeighbor: Bool
    private let handler: any ExchangeHandler
    private let state = Mutex(State())

    init(_ request: ExchangeRequest, beside neighbor: (any Exchange)?, _ handler: any ExchangeHandler) {
        self.request = request
        hasNeighbor = (neighbor as? SteppedExchange)?.path == request.url.path
        self.handler = handler
    }

    var path: String { request.url.path }

    /// The first position of the requested range, or 0 without a range.
    var offset: Int64 {
        guard let range = request.headers["Range"] else { return 0 }
        return Int64(range.dropFirst("bytes=".count).prefix { $0 != "-" }) ?? -1
    }

    /// One past the last position of the requested range; nil without a bounded one.
    private var rangeEnd: Int64? {
        let digits = request.headers["Range"]?.split(separator: "-") ?? []
        return digits.count == 2 ? Int64(digits[1]).map { $0 + 1 } : nil
    }

    var isCancelled: Bool { state.withLock { $0.isCancelled } }
    var hasEnded: Bool { state.withLock { $0.hasEnded } }
    /// The object that is being sent; nil before the head, and after a head without its body.
    var object: SteppedObject? { state.withLock { $0.object } }
    /// The number of bytes still to be sent.
    var remainingByteCount: Int64 {
        state.withLock { state in state.object == nil ? 0 : state.end - state.position }
    }
    /// Whether the transfer has asked the engine to hold back the body.
    var isHeldBack: Bool { state.withLock { $0.isHeldBack } }

    func cancel() {
        let endsNow = state.withLock { state in
            state.isCancelled = true
            return state.endsWhenCancelled
        }
        if endsNow { end(.cancelled) }
    }

    func endWhenCancelled() {
        let endsNow = state.withLock { state in
            state.endsWhenCancelled = true
            return state.isCancelled
        }
        if endsNow { end(.cancelled) }
    }

    // MARK: Steps

    /// Responds as a correct server with `object` would; returns whether the response is partial.
    @discardableResult
    func answer(_ object: SteppedObject) -> Bool {
        let condition = request.headers["If-Range"] ?? object.tag
        let isPartial = offset > 0 && offset < object.content.length && condition == object.tag
        let start = isPartial ? offset : 0
        let length = object.content.length
        let end = isPartial ? min(length, rangeEnd ?? length) : length
        var headers: AsyncDownloads.HeaderFields = ["ETag": object.tag, "Content-Length": String(end - start)]
        if isPartial { headers["Content-Range"] = "bytes \(start)-\(end - 1)/\(length)" }
        state.withLock { state in
            state.object = object
            state.position = start
            (state.start, state.end) = (start, end)
        }
        head(ResponseHead(status: StatusCode(isPartial ? 206 : 200), headers: headers))
        return isPartial
    }

    /// Responds with a status and without the object, and ends.
    func refuse(_ status: Int, _ headers: AsyncDownloads.HeaderFields = [:]) {
        head(ResponseHead(status: StatusCode(status), headers: headers))
        end(.complete)
    }

    private func head(_ head: ResponseHead) {
        if !hasEnded { hold(handler.exchangeReceivedHead(head)) }
    }

    private func hold(_ readiness: Readiness) {
        guard case .notYet(let gate) = readiness else { return }
        state.withLock { $0.isHeldBack = true }
        gate.onOpen { [self] in
            let isFirst = state.withLock { state in
                state.isHeldBack = false
                defer { state.isCatchingUp = true }
                return !state.isCatchingUp
            }
            guard isFirst else { return }
            while let next = state.withLock({ $0.nextStep() }) { next() }
        }
    }

    /// Performs `body` now, or when the engine may deliver again.
    private func inTurn(_ body: @escaping @Sendable () -> Void) {
        let isNow = state.withLock { state in
            let isHeldByWrite = state.isHeldBack && state.position > state.start
            let waits = isHeldByWrite || state.isCatchingUp || !state.backlog.isEmpty
            if waits { state.backlog.append(body) }
            return !waits
        }
        if isNow { body() }
    }

    /// Sends the next bytes, at most `count`.
    func deliver(_ count: Int64) {
        let (object, range) = state.withLock { state -> (SteppedObject?, Range<Int64>) in
            guard let object = state.object, !state.hasEnded else { return (nil, 0..<0) }
            let range = state.position..<min(state.end, state.position + count)
            state.position = range.upperBound
            return (object, range)
        }
        guard let object, !range.isEmpty else { return }
        let bytes = object.content.bytes(in: range)
        inTurn { [self] in bytes.withUnsafeBytes { hold(handler.exchangeReceivedBytes($0)) } }
    }

    /// Sends more bytes than the head has declared.
    func exceed() {
        [UInt8](repeating: 0, count: 10).withUnsafeBytes { bytes in _ = handler.exchangeReceivedBytes(bytes) }
    }

    /// Ends the exchange; later calls have no effect.
    func end(_ end: ExchangeEnd) {
        let isFirst = state.withLock { state in
            defer { state.hasEnded = true }
            return !state.hasEnded
        }
        if isFirst { inTurn { [self] in handler.exchangeEnded(end) } }
    }
}
