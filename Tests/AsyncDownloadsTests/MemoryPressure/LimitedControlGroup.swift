#if os(Linux)
internal import Foundation
internal import TestSupport

@testable import AsyncDownloads

/// A new control group of version 2 for the duration of a test, optionally with a memory limit.
///
/// If the memory controller belongs to version 1, a second group of that version has the limit.
struct LimitedControlGroup {
    /// The directory of version 2, which contains the pressure file.
    let path: String
    private let limiting: String?

    /// Creates the control group; nil if that is not permitted.
    init?(byteLimit: Int? = nil) {
        guard let mounts = try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8),
            let root = ControlGroup.directory(membership: "0::/", mounts: mounts),
            let path = Self.make(in: root)
        else { return nil }
        self.path = path
        guard let byteLimit else {
            limiting = nil
            return
        }
        if Self.write("\(byteLimit)", to: path + "/memory.max") {
            limiting = nil
        } else if let memory = Self.memoryOfVersion1(mounts), let limiting = Self.make(in: memory) {
            self.limiting = limiting
            guard Self.write("\(byteLimit)", to: limiting + "/memory.limit_in_bytes") else {
                remove()
                return nil
            }
        } else {
            rmdir(path)
            return nil
        }
    }

    /// Starts a shell in the group.
    func start(_ script: String) throws -> Process {
        let joining = [path, limiting].compactMap(\.self).map { "echo $$ > '\($0)/cgroup.procs'" }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-ec", (joining + [script]).joined(separator: "\n")]
        try ProcessStart.alone { try process.run() }
        return process
    }

    /// Ends every process in the group.
    func endProcesses() {
        _ = Self.write("1", to: path + "/cgroup.kill")
    }

    /// Removes the control group after its processes have ended.
    func remove() {
        for path in [path, limiting].compactMap(\.self) {
            while rmdir(path) != 0, errno == EBUSY { sched_yield() }
        }
    }

    private static func make(in directory: String) -> String? {
        let path = "\(directory)/async-downloads-test-\(UUID().uuidString)"
        return mkdir(path, 0o755) == 0 ? path : nil
    }

    private static func memoryOfVersion1(_ mounts: String) -> String? {
        let line = mounts.split(separator: "\n").first { $0.contains(" - cgroup ") && $0.hasSuffix(",memory") }
        return line.map { String($0.split(separator: " ")[4]) }
    }

    private static func write(_ text: String, to path: String) -> Bool {
        guard let file = FileHandle(forWritingAtPath: path) else { return false }
        defer { try? file.close() }
        return (try? file.write(contentsOf: Data(text.utf8))) != nil
    }
}
#endif
