/// The directory of a background session's files: finished bodies until they are placed, and resume data.
///
/// The system removes a finished file when its callback returns. The callback therefore only moves the file here, next
/// to a small file with the head of the response. Whether the file can be used is decided later, possibly by another
/// process.
struct Spool: Sendable {
    /// A file that was moved into the spool, and the head of the response that it came with.
    struct Body: Sendable, Hashable {
        var fileName: String
        var inode: UInt64
        /// The time of the last modification, in nanoseconds since 1970.
        var modificationTime: Int64
        var byteCount: Int64
        var head: DaemonResponseHead
    }

    private static let headKind = "head"
    private static let headVersion = 1
    private static let failureKind = "failure"
    private static let failureVersion = 1

    let disk: any FileSystem
    let directory: String

    init(disk: any FileSystem, directory: String) {
        self.disk = disk
        self.directory = directory
    }

    /// Returns the path of a file in the spool.
    func path(_ name: String) -> String { PartialNames.join(directory, name) }

    /// Moves the file at `location` into the spool.
    ///
    /// The head is written first: a later process never uses a body without a head, because its status is unknown. If
    /// the head cannot be written, for example because the disk is full, the file is moved nevertheless, and this
    /// process uses the head that it has.
    func receive(_ name: DaemonTaskName, from location: String, _ head: DaemonResponseHead) throws(FileFailure) -> Body
    {
        let path = path("\(name.fileStem).body")
        guard try disk.information(at: location)?.kind == .regular else {
            throw FileFailure(.missing, errno: 0, operation: "move", name: name.fileStem, reason: "it does not exist")
        }
        write(head, name)
        do throws(FileFailure) {
            try disk.rename(location, to: path)
        } catch {
            guard error.kind == .crossDevice else { throw error }
            let source = try disk.open(location, .reading)
            defer { disk.close(source) }
            try disk.remove("\(path).new")
            disk.close(try disk.duplicate(source, to: "\(path).new"))
            try disk.rename("\(path).new", to: path)
        }
        guard let information = try disk.information(at: path) else {
            throw FileFailure(.missing, errno: 0, operation: "open", name: name.fileStem, reason: "it does not exist")
        }
        return Body(
            fileName: "\(name.fileStem).body", inode: information.inode,
            modificationTime: information.modificationTime, byteCount: information.size, head: head)
    }

    private func write(_ head: DaemonResponseHead, _ name: DaemonTaskName) {
        let path = path("\(name.fileStem).head")
        guard let bytes = try? CheckedDocument.encode(head, kind: Self.headKind, version: Self.headVersion) else {
            return
        }
        // During a sync, the system may lose other completions (platform fact 3).
        if (try? disk.replaceContents(of: path, by: bytes, isSynced: false)) == nil {
            // The head of an earlier response must not be used for this body.
            try? disk.remove(path)
        }
    }

    /// Returns the body of an attempt that is in the spool together with its head.
    func body(_ name: DaemonTaskName) -> Body? {
        guard let information = try? disk.information(at: path("\(name.fileStem).body")), information.kind == .regular,
            let bytes = try? disk.contents(of: path("\(name.fileStem).head"), limit: 1 << 20),
            let head = try? CheckedDocument.decode(
                DaemonResponseHead.self, from: bytes, kind: Self.headKind, version: Self.headVersion)
        else { return nil }
        return Body(
            fileName: "\(name.fileStem).body", inode: information.inode,
            modificationTime: information.modificationTime, byteCount: information.size, head: head)
    }

    /// Saves the resume data of an attempt that has ended, and returns the name of its file.
    func saveResumeData(_ bytes: [UInt8], of name: DaemonTaskName) throws(FileFailure) -> String {
        let fileName = Self.resumeDataName(of: name)
        try disk.replaceContents(of: path(fileName), by: bytes, isSynced: false)
        return fileName
    }

    /// Records why an attempt has failed, for the case that the process ends before the journal contains it.
    func saveFailure(_ reason: DaemonFailure.Reason, of name: DaemonTaskName) {
        guard
            let bytes = try? CheckedDocument.encode(
                RecordedFailure(reason), kind: Self.failureKind, version: Self.failureVersion)
        else { return }
        try? disk.replaceContents(of: path(Self.failureName(of: name)), by: bytes, isSynced: false)
    }

    /// Returns the event of a failure that an earlier process has secured; nil if there is none.
    func failure(_ name: DaemonTaskName) -> DaemonEvent? {
        let fileName = Self.resumeDataName(of: name)
        let resumeData = (try? disk.information(at: path(fileName))) == nil ? nil : fileName
        guard let bytes = try? disk.contents(of: path(Self.failureName(of: name)), limit: 1 << 20),
            let recorded = try? CheckedDocument.decode(
                RecordedFailure.self, from: bytes, kind: Self.failureKind, version: Self.failureVersion)
        else { return resumeData.map { .failed(name, .interrupted, resumeData: $0) } }
        return .failed(name, recorded.reason, resumeData: resumeData)
    }

    /// Returns the resume data in a file; nil if the file is missing or cannot be read.
    func resumeData(_ fileName: String) -> [UInt8]? { try? disk.contents(of: path(fileName), limit: 16 << 20) }

    private static func resumeDataName(of name: DaemonTaskName) -> String { "\(name.fileStem).resume" }

    /// Returns the name of the file with the reason why an attempt has failed.
    static func failureName(of name: DaemonTaskName) -> String { "\(name.fileStem).failure" }

    /// Removes files of the spool, and the heads that belong to them.
    func remove(_ fileNames: some Sequence<String>) {
        for name in fileNames {
            try? disk.remove(path(name))
            if name.hasSuffix(".body") { try? disk.remove(path("\(name.dropLast(5)).head")) }
        }
    }

    /// Removes every file that is neither in `used` nor of one of the attempts `names`, whose events may not have
    /// been delivered yet.
    ///
    /// Only names that this type creates are removed.
    func removeUnused(except used: Set<String>, of names: [DaemonTaskName]) {
        let heads = Set(used.filter { $0.hasSuffix(".body") }.map { "\($0.dropLast(5)).head" })
        let stems = Set(names.map(\.fileStem))
        for name in (try? disk.names(in: directory)) ?? [] where !used.contains(name) && !heads.contains(name) {
            let words = name.split(separator: ".", maxSplits: 1).map(String.init)
            guard words.count == 2, Self.endings.contains(words[1]), !stems.contains(words[0]),
                words[0].utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || $0 == UInt8(ascii: "-") })
            else { continue }
            try? disk.remove(path(name))
        }
    }

    private static let endings: Set<String> = [
        "base", "body", "head", "resume", "failure", "body.new", "head.new", "resume.new", "failure.new",
    ]
}
