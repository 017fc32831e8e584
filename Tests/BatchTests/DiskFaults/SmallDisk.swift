internal import Foundation
internal import Testing

/// A small file system in memory of a test's own, which can be made full, larger and read-only.
///
/// It is mounted in a mount namespace that a shell keeps open, so that nothing remains when the shell has gone, and no
/// privilege is needed where the system lets users have namespaces. Everybody else gets to it through the shell's root
/// directory in /proc.
final class SmallDisk: Sendable {
    /// Its top directory.
    let folder: Folder
    /// A directory elsewhere, for a process to be in: it could not tell its own place on this disk.
    let home: Folder

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    /// Runs `body` with a disk of so many MiB.
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
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        try output.fileHandleForWriting.close()
        self.folder = Folder(url: URL(filePath: "/proc/\(process.processIdentifier)/root\(folder.url.path)"))
        try #require(isDone, "no mount")
    }

    private func unmount() {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Whether the shell says that the last mount has succeeded.
    private var isDone: Bool { output.fileHandleForReading.availableData.starts(with: Data("done".utf8)) }

    /// Mounts it anew with other options of tmpfs(5).
    func remount(_ options: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\(options)\n".utf8))
        try #require(isDone, "not remounted with \(options)")
    }

    /// Takes all the space that is left, by a file `filler`.
    func fill() throws {
        let filler = folder.url("filler")
        try Data().write(to: filler)
        let handle = try FileHandle(forWritingTo: filler)
        defer { try? handle.close() }
        let page = Data(repeating: 1, count: 4096)
        while (try? handle.write(contentsOf: page)) != nil {}
    }

    /// Gives it back.
    func clear() throws {
        try FileManager.default.removeItem(at: folder.url("filler"))
    }

    /// Whether one can be had here; says where not.
    static let isAvailable: Bool = {
        let isAvailable = (try? probe()) != nil
        if !isAvailable { print("no file system can be mounted here: the tests of full disks are left out") }
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
