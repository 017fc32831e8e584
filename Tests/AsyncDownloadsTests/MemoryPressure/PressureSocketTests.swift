#if os(Linux)
internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("Watching a socket, or an ordinary file, for memory pressure", .endsWhenHung)
struct PressureSocketTests {
    private let directory: TemporaryDirectory
    private let time = ManualTimeSource()
    private let levels = LevelRecorder()
    private var path: String { directory.path + "/s" }

    init() throws { directory = try TemporaryDirectory() }

    private func monitor(write: String? = nil, log: LogLines = LogLines()) -> SystemMemoryPressure {
        var environment = ["MEMORY_PRESSURE_WATCH": path]
        environment["MEMORY_PRESSURE_WRITE"] = write
        return SystemMemoryPressure(environment, time: time, log: log)
    }

    /// Listens at the path without accepting connections.
    private func listener(connections: Int32 = 8) throws -> Int32 {
        let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let answer = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(answer == 0)
        try #require(listen(number, connections) == 0)
        return number
    }

    @Test func `bytes from a socket are a warning, and the socket receives the bytes to write`() async throws {
        let listener = try listener()
        defer { close(listener) }
        let watch = monitor(write: "aGVsbG8=").watch(levels.record)
        let peer = accept(listener, nil, nil)
        defer { close(peer) }
        var buffer = [UInt8](repeating: 0, count: 16)
        #expect(read(peer, &buffer, 16) == 5)
        #expect(buffer.starts(with: "hello".utf8))
        for _ in 0..<3 {
            #expect(write(peer, "x", 1) == 1)
            #expect(await levels.next() == .warning)
        }
        watch.stop()
        #expect(read(peer, &buffer, 16) == 0, "the connection is closed")
        #expect(levels.levels.count == 3)
    }

    @Test func `the watch ends with its peer, and its last level still expires`() async throws {
        let listener = try listener()
        defer { close(listener) }
        let lines = LogLines()
        let watch = monitor(log: lines).watch(levels.record)
        let peer = accept(listener, nil, nil)
        #expect(write(peer, "x", 1) == 1)
        #expect(shutdown(peer, Int32(SHUT_WR)) == 0)
        var byte: UInt8 = 0
        #expect(read(peer, &byte, 1) == 0, "the watch closes its side too")
        close(peer)
        #expect(await levels.next() == .warning)
        await time.timer(ofAtLeast: .seconds(10))
        time.advance(by: .seconds(10))
        #expect(await levels.next() == .normal)
        await lines.any()
        #expect(lines.all == ["memory pressure is not watched: the source has ended"])
        watch.stop()
    }

    @Test func `a socket without a listener is not watched`() throws {
        let listener = try listener()
        // A process that another test is starting may still have a copy of the descriptor.
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        let lines = LogLines()
        let file = PressureFile(path: path, triggers: [.some])
        SystemMemoryPressure([file], time: time, log: lines).watch(levels.record).stop()
        #expect(lines.all == ["memory pressure is not watched: cannot connect to \(path): Connection refused"])
    }

    @Test func `a path that is too long for a socket is not watched`() throws {
        close(try listener())
        let long = directory.path + "/" + String(repeating: "s", count: 120)
        try #require(rename(path, long) == 0)
        let lines = LogLines()
        let file = PressureFile(path: long, triggers: [.some])
        SystemMemoryPressure([file], time: time, log: lines).watch(levels.record).stop()
        #expect(lines.all == ["memory pressure is not watched: cannot connect to \(long): File name too long"])
    }

    @Test func `an ordinary file receives the bytes to write and is never read`() async throws {
        try directory.put([], at: path)
        let watch = monitor(write: "aGVsbG8=").watch(levels.record)
        #expect(directory.bytes(at: path) == Array("hello".utf8))
        watch.stop()
        await OpenDescriptors.gone(path)
        #expect(levels.levels == [])
    }
}
#endif
