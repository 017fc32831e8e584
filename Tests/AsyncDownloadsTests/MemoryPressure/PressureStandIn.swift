#if os(Linux)
internal import Foundation

@testable import AsyncDownloads

/// A FIFO in the place of the kernel's file, gone with its directory at the end.
final class PressureStandIn: Sendable {
    private let directory = FileManager.default.temporaryDirectory.path + "/pressure-\(UUID().uuidString)"
    let path: String

    init() throws {
        path = directory + "/fifo"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        guard mkfifo(path, 0o600) == 0 else { throw POSIXError(.EIO) }
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// The environment of a service that is to watch it.
    var environment: [String: String] { ["MEMORY_PRESSURE_WATCH": path] }

    /// Whether anybody reads it: without, it cannot be opened for writing.
    var isWatched: Bool {
        let number = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        if number >= 0 { close(number) }
        return number >= 0
    }

    /// Signals pressure to whoever watches.
    func signal(byteCount: Int = 1) {
        let number = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        _ = write(number, [UInt8](repeating: 120, count: byteCount), byteCount)
        close(number)
    }

    /// Waits until nobody watches any more.
    func unwatched() async {
        while isWatched { await Task.yield() }
    }
}

extension SystemMemoryPressure {
    /// Watches `files`, and keeps what it logs.
    convenience init(_ files: [PressureFile], time: any TimeSource, log: LogLines = LogLines()) {
        self.init(time: time, files: { files }, log: log.append)
    }

    /// Watches what a service with this environment, in no control group, would watch.
    convenience init(_ environment: [String: String], time: any TimeSource, log: LogLines = LogLines()) {
        self.init(PressureFile.candidates(environment: environment, membership: "", mounts: ""), time: time, log: log)
    }
}
#endif
