#if ServerStack && os(Linux)
import Foundation
import TestSupport
import Testing

@testable import AsyncDownloads

/// A server to which connections are established, and that never answers: no handshake of TLS is completed.
@Suite(.endsWhenHung)
struct UnansweredConnectionTests {
    /// A TCP socket that establishes connections and is never read.
    private struct SilentListener {
        let descriptor: Int32
        let port: UInt16

        init() throws {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            self.descriptor = descriptor
            port = try withUnsafeMutablePointer(to: &address) { pointer in
                try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                    try #require(bind(descriptor, generic, length) == 0)
                    try #require(listen(descriptor, 8) == 0)
                    try #require(getsockname(descriptor, generic, &length) == 0)
                }
                return UInt16(bigEndian: pointer.pointee.sin_port)
            }
        }

        /// Waits until a client has connected.
        func waitForConnection() async {
            var descriptors = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
            while poll(&descriptors, 1, 0) == 0 { await Task.yield() }
        }
    }

    /// The attempt itself would end after an hour.
    @Test func `a shutdown does not wait for an attempt to connect`() async throws {
        let listener = try SilentListener()
        defer { close(listener.descriptor) }
        let directory = try TemporaryDirectory()
        var configuration = Downloader.Configuration()
        configuration.memoryPressure = .none
        configuration.idleTimeout = nil
        let downloader = Downloader(
            configuration: configuration, transport: HTTPClientTransport(connectTimeout: .seconds(3600)),
            store: PartialStore(durability: .processCrash), time: ManualTimeSource())
        let url = try #require(URL(string: "https://127.0.0.1:\(listener.port)/file"))
        let download = downloader.start(
            DownloadRequest(from: url, to: URL(fileURLWithPath: "\(directory.path)/file.bin")))
        await listener.waitForConnection()
        await downloader.shutdown()
        let error = await #expect(throws: DownloadError.self) { try await download.file }
        #expect(error?.code == .shutDown)
        #expect(try directory.contents == [])
    }
}
#endif
