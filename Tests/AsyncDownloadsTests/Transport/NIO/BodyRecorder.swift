#if ServerStack
@testable import AsyncDownloads

/// A handler that collects the body.
final class BodyRecorder: ExchangeHandler {
    private let body = Mutex<[UInt8]>([])
    private let end = AsyncStream.makeStream(of: String.self)

    /// Waits for the end, and returns the body or the code of the error.
    func result() async -> String {
        for await result in end.stream { return result }
        return "no end"
    }

    func exchangeReceivedHead(_ head: ResponseHead) -> Readiness { .ready }

    func exchangeReceivedBytes(_ bytes: UnsafeRawBufferPointer) -> Readiness {
        body.withLock { $0 += bytes }
        return .ready
    }

    func exchangeEnded(_ end: ExchangeEnd) {
        switch end {
        case .complete: self.end.continuation.yield(String(decoding: body.withLock { $0 }, as: UTF8.self))
        case .cancelled: self.end.continuation.yield("cancelled")
        case .cancelledWhileConnecting: self.end.continuation.yield("cancelledWhileConnecting")
        case .failed(let error): self.end.continuation.yield(error.code.name)
        }
        self.end.continuation.finish()
    }
}
#endif
