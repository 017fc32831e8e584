#if os(Linux)
internal import Foundation

/// The descriptors of this process.
enum OpenDescriptors {
    /// What they lead to.
    static var paths: [String] {
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return numbers.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
    }

    /// Waits until none leads to `path`, be it there or removed.
    static func gone(_ path: String) async {
        while paths.contains(where: { $0.hasPrefix(path) }) { await Task.yield() }
    }
}
#endif
