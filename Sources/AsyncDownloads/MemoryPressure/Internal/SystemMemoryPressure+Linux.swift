#if os(Linux)
internal import Foundation

/// The memory pressure that the kernel or the service manager reports.
final class SystemMemoryPressure: MemoryPressureMonitor {
    private let time: any TimeSource
    private let files: @Sendable () -> [PressureFile]
    private let log: @Sendable (String) -> Void
    private let hasLogged = Mutex(false)

    /// Creates a monitor of what the service manager names, of the control group, or of the whole system.
    convenience init(time: any TimeSource) {
        self.init(time: time, files: Self.candidates) { message in Log().debug(message) }
    }

    /// - Parameters:
    ///   - files: The files to try. The closure is called when each watch starts, because a process may move to another
    ///     control group.
    ///   - log: The log for the reason why nothing can be watched, which is written once.
    init(
        time: any TimeSource, files: @escaping @Sendable () -> [PressureFile],
        log: @escaping @Sendable (String) -> Void
    ) {
        self.time = time
        self.files = files
        self.log = log
    }

    func watch(_ observer: @escaping @Sendable (MemoryPressure) -> Void) -> any MemoryPressureWatch {
        let watch = SystemPressureWatch(time: time, observer: observer)
        let descriptors = firstDescriptors()
        guard !descriptors.isEmpty else { return watch }
        let polling = PressurePolling(descriptors) { level in
            watch.take(.moment(level))
        } ended: { [self] in
            logOnce("the source has ended")
        }
        if let polling {
            watch.setSource { polling.stop() }
        } else {
            logOnce("no file descriptors are available")
        }
        return watch
    }

    /// Opens the first file that can be watched, and returns its descriptors.
    private func firstDescriptors() -> [PressureDescriptor] {
        var failures: [PressureFileFailure] = []
        for file in files() {
            do {
                return try PressureDescriptor.open(file)
            } catch {
                failures.append(error)
            }
        }
        if !failures.isEmpty { logOnce(failures.map(\.description).joined(separator: "; ")) }
        return []
    }

    private func logOnce(_ reason: String) {
        let isFirst = hasLogged.withLock { hasLogged in
            defer { hasLogged = true }
            return !hasLogged
        }
        if isFirst { log("memory pressure is not watched: \(reason)") }
    }

    private static func candidates() -> [PressureFile] {
        PressureFile.candidates(
            environment: ProcessInfo.processInfo.environment,
            membership: (try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)) ?? "",
            mounts: (try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)) ?? "")
    }
}
#endif
