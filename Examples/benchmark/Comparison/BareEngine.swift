internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// The HTTP engine of the library without the library: each body is written to a file, which is renamed at its end.
///
/// This is the least that any library on this engine has to do. It doesn't retry, resume, lock, or check anything but
/// the status. Everything runs on one event loop, on which a finished download starts the next one.
enum BareEngine {
    struct Failure: Error {
        let status: UInt
    }

    /// Downloads the files.
    static func fetch(_ transfers: [FileTransfer], jobs: Int, rootFile: String?) async throws {
        let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()
        let client = HTTPClient(
            eventLoopGroupProvider: .shared(loop),
            configuration: try configuration(
                jobs: jobs, rootFile: rootFile, readLength: transfers.count == 1 ? 1 << 20 : 64 << 10))
        let queue = BareQueue(transfers, client: client, loop: loop)
        let lanes = (0..<min(jobs, transfers.count)).map { _ in
            let promise = loop.makePromise(of: Void.self)
            loop.execute { queue.fetchNext(promise) }
            return promise.futureResult
        }
        try await EventLoopFuture.andAllSucceed(lanes, on: loop).get()
        try await client.shutdown()
    }

    private static func configuration(
        jobs: Int, rootFile: String?, readLength: Int
    ) throws -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(decompression: .disabled)
        configuration.httpVersion = .http1Only
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = jobs
        if let rootFile {
            var security = TLSConfiguration.makeClientConfiguration()
            security.additionalTrustRoots = [.file(rootFile)]
            configuration.tlsConfiguration = security
        }
        configuration.http1_1ConnectionDebugInitializer = { channel in
            channel.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: readLength))
                .flatMap { channel.setOption(.maxMessagesPerRead, value: 1) }
        }
        return configuration
    }
}

/// The files that have not been requested; used on one event loop only.
private final class BareQueue: @unchecked Sendable {  // Used on one event loop.
    private var transfers: ArraySlice<FileTransfer>
    private let client: HTTPClient
    private let loop: any EventLoop

    init(_ transfers: [FileTransfer], client: HTTPClient, loop: any EventLoop) {
        self.transfers = transfers[...]
        self.client = client
        self.loop = loop
    }

    /// Downloads one file after the other until none is left.
    func fetchNext(_ end: EventLoopPromise<Void>) {
        guard let transfer = transfers.popFirst() else { return end.succeed() }
        do {
            let request = try HTTPClient.Request(url: transfer.url)
            client.execute(
                request: request, delegate: BodyWriter(transfer.path, loop), eventLoop: .delegateAndChannel(on: loop)
            ).futureResult.whenComplete { [self] result in
                switch result {
                case .success: fetchNext(end)
                case .failure(let error): end.fail(error)
                }
            }
        } catch {
            end.fail(error)
        }
    }
}

/// A delegate that writes a body to a temporary file and renames it.
private final class BodyWriter: HTTPClientResponseDelegate, @unchecked Sendable {  // Called on one event loop.
    private let path: String
    private let temporaryPath: String
    private let loop: any EventLoop
    private var descriptor: Int32 = -1
    private var offset: off_t = 0

    init(_ path: String, _ loop: any EventLoop) {
        self.path = path
        temporaryPath = path + ".part"
        self.loop = loop
    }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        guard head.status == .ok else {
            return loop.makeFailedFuture(BareEngine.Failure(status: UInt(head.status.code)))
        }
        descriptor = open(temporaryPath, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { return loop.makeFailedFuture(CocoaError(.fileWriteUnknown)) }
        return loop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        let isWritten = buffer.withUnsafeReadableBytes { bytes in
            pwrite(descriptor, bytes.baseAddress, bytes.count, offset) == bytes.count
        }
        offset += off_t(buffer.readableBytes)
        return isWritten ? loop.makeSucceededVoidFuture() : loop.makeFailedFuture(CocoaError(.fileWriteUnknown))
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws {
        close(descriptor)
        guard rename(temporaryPath, path) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }
}
