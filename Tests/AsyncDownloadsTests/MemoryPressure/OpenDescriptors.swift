#if os(Linux)
internal import Foundation

/// The open descriptors of this process.
enum OpenDescriptors {
    /// The paths of the open files.
    static var paths: [String] {
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return numbers.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
    }

    /// Waits until no descriptor refers to `path`, whether the file exists or not.
    static func gone(_ path: String) async {
        while paths.contains(where: { $0.hasPrefix(path) }) { await Task.yield() }
    }
}
#endif
