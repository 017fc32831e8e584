internal import AsyncDownloads
internal import Foundation

/// The HTTP engine of the library without the library: each body is written to a file, which is renamed at its end.
///
/// This is the least that any library on this engine has to do. It doesn't retry, resume, lock, or check anything but
/// the status. The end of a download starts the next one, on the thread of the engine.
enum BareEngine {
    struct Failure: Error {
        let reason: String
    }

    /// Downloads the files.
    static func fetch(_ transfers: [FileTransfer], jobs: Int, rootFile: String?) async throws {
        let roots = try rootFile.map { try TrustRoots(pemFile: URL(fileURLWithPath: $0)) }
        let transport = Engine.preferred.makeTransport(trusting: roots)
        let queue = BareQueue(transfers, transport)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<min(jobs, transfers.count) { group.addTask { try await queue.fetchAll() } }
            try await group.waitForAll()
        }
        await transport.shutdown()
    }
}

/// The files that have not been requested.
private final class BareQueue: Sendable {
    private let transfers: Mutex<ArraySlice<FileTransfer>>
    private let transport: any Transport

    init(_ transfers: [FileTransfer], _ transport: any Transport) {
        self.transfers = Mutex(transfers[...])
        self.transport = transport
    }

    /// Downloads one file after the other until none is left.
    func fetchAll() async throws {
        try await withCheckedThrowingContinuation { fetchNext($0) }
    }

    private func fetchNext(_ end: CheckedContinuation<Void, any Error>) {
        guard let transfer = transfers.withLock({ $0.popFirst() }) else { return end.resume() }
        let writer = BodyWriter(transfer.path) { [self] failure in
            if let failure { end.resume(throwing: failure) } else { fetchNext(end) }
        }
        let request = ExchangeRequest(url: transfer.url, headers: ["User-Agent": "benchmark"])
        _ = transport.start(request, beside: nil, handler: writer)
    }
}

/// A handler that writes a body to a temporary file and renames it.
private final class BodyWriter: ExchangeHandler {
    private struct State {
        var descriptor: Int32 = -1
        var offset: off_t = 0
        var failure: BareEngine.Failure?
    }

    private let path: String
    private let whenEnded: @Sendable (BareEngine.Failure?) -> Void
    private let state = Mutex(State())

    init(_ path: String, whenEnded: @escaping @Sendable (BareEngine.Failure?) -> Void) {
        self.path = path
        self.whenEnded = whenEnded
    }

    private var temporaryPath: String { path + ".part" }

    func exchangeReceivedHead(_ head: ResponseHead) -> Readiness {
        state.withLock { state in
            if head.status.code == 200 {
                state.descriptor = open(temporaryPath, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0o644)
                if state.descriptor < 0 { state.failure = .init(reason: "the file can't be opened") }
            } else {
                state.failure = .init(reason: "status \(head.status.code)")
            }
        }
        return .ready
    }

    func exchangeReceivedBytes(_ bytes: UnsafeRawBufferPointer) -> Readiness {
        state.withLock { state in
            guard state.failure == nil else { return }
            if pwrite(state.descriptor, bytes.baseAddress, bytes.count, state.offset) != bytes.count {
                state.failure = .init(reason: "the file can't be written")
            }
            state.offset += off_t(bytes.count)
        }
        return .ready
    }

    func exchangeEnded(_ end: ExchangeEnd) {
        let failure = state.withLock { state in
            if state.descriptor >= 0 { close(state.descriptor) }
            if let failure = state.failure { return BareEngine.Failure?.some(failure) }
            guard case .complete = end else { return .init(reason: "\(end)") }
            return rename(temporaryPath, path) == 0 ? nil : .init(reason: "the file can't be renamed")
        }
        whenEnded(failure)
    }
}
