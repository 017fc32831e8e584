#if ServerStack
internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// The HTTP engine of the library without the library: each body is written to a file, which is renamed at its end.
///
/// This is the least that any library on this engine has to do. It doesn't retry, resume, lock, or check anything but
/// the status.
enum BareEngine {
    struct Failure: Error {
        let status: UInt
    }

    /// Downloads the files.
    static func fetch(_ transfers: [FileTransfer], jobs: Int) async throws {
        var configuration = HTTPClient.Configuration(decompression: .disabled)
        configuration.httpVersion = .http1Only
        let capacity = transfers.count == 1 ? 1 << 20 : 64 << 10
        configuration.http1_1ConnectionDebugInitializer = { channel in
            channel.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: capacity))
                .flatMap { channel.setOption(.maxMessagesPerRead, value: 1) }
        }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (number, transfer) in transfers.enumerated() {
                if number >= jobs { try await tasks.next() }
                tasks.addTask {
                    let request = try HTTPClient.Request(url: transfer.url.absoluteString)
                    try await client.execute(request: request, delegate: BodyWriter(transfer.path)).futureResult.get()
                }
            }
            try await tasks.waitForAll()
        }
        try await client.shutdown()
        try await group.shutdownGracefully()
    }
}

/// A delegate that writes a body to a temporary file and renames it.
private final class BodyWriter: HTTPClientResponseDelegate, @unchecked Sendable {  // Called on one event loop.
    private let path: String
    private var descriptor: Int32 = -1
    private var offset: off_t = 0

    init(_ path: String) {
        self.path = path
    }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        guard head.status == .ok else {
            return task.eventLoop.makeFailedFuture(BareEngine.Failure(status: UInt(head.status.code)))
        }
        descriptor = open("\(path).part", O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { return task.eventLoop.makeFailedFuture(CocoaError(.fileWriteUnknown)) }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        let isWritten = buffer.withUnsafeReadableBytes { bytes in
            pwrite(descriptor, bytes.baseAddress, bytes.count, offset) == bytes.count
        }
        offset += off_t(buffer.readableBytes)
        return isWritten
            ? task.eventLoop.makeSucceededVoidFuture()
            : task.eventLoop.makeFailedFuture(CocoaError(.fileWriteUnknown))
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws {
        close(descriptor)
        guard rename("\(path).part", path) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }
}
#endif
