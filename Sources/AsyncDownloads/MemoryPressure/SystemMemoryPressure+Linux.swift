#if os(Linux)
internal import Foundation

/// The memory pressure that the kernel, or the service manager, tells of.
package final class SystemMemoryPressure: MemoryPressureMonitor {
    private let time: any TimeSource
    private let files: @Sendable () -> [PressureFile]
    private let log: @Sendable (String) -> Void
    private let hasLogged = Mutex(false)

    /// Watches what this process is told to, or its control group, or the whole system.
    package convenience init(time: any TimeSource) {
        self.init(time: time, files: Self.candidates) { message in Log().debug(message) }
    }

    /// - Parameters:
    ///   - files: What to try, asked at the beginning of each watch: a process may move to another control group.
    ///   - log: Where to say, once, that nothing can be watched.
    init(
        time: any TimeSource, files: @escaping @Sendable () -> [PressureFile],
        log: @escaping @Sendable (String) -> Void
    ) {
        self.time = time
        self.files = files
        self.log = log
    }

    package func watch(_ observer: @escaping @Sendable (MemoryPressure) -> Void) -> any MemoryPressureWatch {
        let watch = SystemPressureWatch(time: time, observer: observer)
        let descriptors = firstDescriptors()
        if !descriptors.isEmpty, let polling = PressurePolling(descriptors, handler: { watch.take(.moment($0)) }) {
            watch.setSource { polling.stop() }
        }
        return watch
    }

    /// Those of the first file that can be watched.
    private func firstDescriptors() -> [PressureDescriptor] {
        var failures: [PressureFileFailure] = []
        for file in files() {
            do {
                return try PressureDescriptor.open(file)
            } catch {
                failures.append(error)
            }
        }
        if !failures.isEmpty, hasLogged.withLock({ $0.set() }) {
            log("memory pressure is not watched: " + failures.map(\.description).joined(separator: "; "))
        }
        return []
    }

    private static func candidates() -> [PressureFile] {
        PressureFile.candidates(
            environment: ProcessInfo.processInfo.environment,
            membership: (try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)) ?? "",
            mounts: (try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)) ?? "")
    }
}

extension Bool {
    /// Becomes true; whether it was not before.
    fileprivate mutating func set() -> Bool {
        defer { self = true }
        return !self
    }
}
#endif
