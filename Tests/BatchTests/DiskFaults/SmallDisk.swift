internal import Foundation
internal import TestSupport
internal import Testing

/// A small file system in memory for one test, which can be filled, enlarged, and made read-only.
///
/// It is mounted in a mount namespace that a shell keeps open. It disappears with the shell, and needs no privileges if
/// the system permits user namespaces. Other processes access it through the shell's root directory in /proc.
final class SmallDisk: Sendable {
    /// The top directory of the file system.
    let folder: Folder
    /// A working directory outside the file system: a process in it could not determine the path of its own directory.
    let home: Folder

    private let process = Process()
    private let input: Pipe
    private let output: Pipe

    /// Runs `body` with a file system of this size.
    static func with(mebibytes: Int, _ body: (SmallDisk) async throws -> Void) async throws {
        try await Folder.with { folder in
            let disk = try SmallDisk(mebibytes, at: folder)
            defer { disk.unmount() }
            try await body(disk)
        }
    }

    private init(_ mebibytes: Int, at folder: Folder) throws {
        home = folder
        process.executableURL = URL(filePath: "/usr/bin/unshare")
        let script = """
            mount -t tmpfs -o "size=$1m,mode=700" tmpfs "$0" && echo done &&
            while read -r options; do mount -o "remount,$options" "$0" && echo done || echo failed; done
            """
        process.arguments = ["--map-root-user", "--mount", "/bin/sh", "-c", script, folder.url.path, "\(mebibytes)"]
        process.standardError = FileHandle.nullDevice
        (input, output) = try ProcessStart.alone { [process] in
            let (input, output) = (Pipe(), Pipe())
            process.standardInput = input
            process.standardOutput = output
            try process.run()
            try output.fileHandleForWriting.close()
            return (input, output)
        }
        self.folder = Folder(url: URL(filePath: "/proc/\(process.processIdentifier)/root\(folder.url.path)"))
        try #require(isDone, "the file system is not mounted")
    }

    private func unmount() {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Whether the shell reports that the last mount has succeeded.
    private var isDone: Bool { output.fileHandleForReading.availableData.starts(with: Data("done".utf8)) }

    /// Remounts the file system with other options of tmpfs(5).
    func remount(_ options: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\(options)\n".utf8))
        try #require(isDone, "not remounted with \(options)")
    }

    /// Fills the free space with a file named `filler`.
    func fill() throws {
        let filler = folder.url("filler")
        try Data().write(to: filler)
        let handle = try FileHandle(forWritingTo: filler)
        defer { try? handle.close() }
        let page = Data(repeating: 1, count: 4096)
        while (try? handle.write(contentsOf: page)) != nil {}
    }

    /// Removes the file `filler`.
    func clear() throws {
        try FileManager.default.removeItem(at: folder.url("filler"))
    }

    /// Whether the system permits such a file system; prints a message if it doesn't.
    static let isAvailable: Bool = {
        let isAvailable = (try? probe()) != nil
        if !isAvailable { print("the tests of full disks are skipped: no file system can be mounted here") }
        return isAvailable
    }()

    private static func probe() throws {
        let folder = Folder(url: FileManager.default.temporaryDirectory.appending(path: "BatchTests-\(UUID())"))
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder.url) }
        let disk = try SmallDisk(1, at: folder)
        defer { disk.unmount() }
        try Data([1]).write(to: disk.folder.url("probe"))
    }
}
