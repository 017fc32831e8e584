#if os(Linux)
internal import Foundation

@testable import AsyncDownloads

/// A FIFO in place of the kernel's file, which is removed on release.
final class PressureStandIn: Sendable {
    private let directory = FileManager.default.temporaryDirectory.path + "/pressure-\(UUID().uuidString)"
    let path: String

    init() throws {
        path = directory + "/fifo"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        guard mkfifo(path, 0o600) == 0 else { throw POSIXError(.EIO) }
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// The environment of a service that has to watch the FIFO.
    var environment: [String: String] { ["MEMORY_PRESSURE_WATCH": path] }

    /// Whether a process reads the FIFO; otherwise it cannot be opened for writing.
    var isWatched: Bool {
        let number = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        if number >= 0 { close(number) }
        return number >= 0
    }

    /// Signals pressure to the readers of the FIFO.
    func signal(byteCount: Int = 1) {
        let number = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        _ = write(number, [UInt8](repeating: 120, count: byteCount), byteCount)
        close(number)
    }

    /// Waits until no process reads the FIFO.
    func unwatched() async {
        while isWatched { await Task.yield() }
    }
}

extension SystemMemoryPressure {
    /// Creates a monitor of `files` that logs to `log`.
    convenience init(_ files: [PressureFile], time: any TimeSource, log: LogLines = LogLines()) {
        self.init(time: time, files: { files }, log: log.append)
    }

    /// Creates a monitor of the files that a service with this environment, without a control group, would watch.
    convenience init(_ environment: [String: String], time: any TimeSource, log: LogLines = LogLines()) {
        self.init(PressureFile.candidates(environment: environment, membership: "", mounts: ""), time: time, log: log)
    }
}
#endif
