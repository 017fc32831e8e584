internal import Foundation

/// A file with results, which is written at the end of a run, atomically.
///
/// Until then, the results are in a temporary file without a name, so that they use no memory, and no file is left
/// behind if the process is killed.
struct ResultFile {
    private static let pieceLength = 1 << 16
    /// The number of numbered names that are tried.
    private static let mostNumbers = 1000

    private let path: String
    private let temporary: String
    private let permissions: mode_t
    /// The descriptor of the process that the path names, such as standard output; nil for other paths.
    ///
    /// It is written to directly, because other output to it has to follow, and must neither be replaced nor overwritten.
    private let descriptor: Int32?
    private let spool: Int32
    private var buffer: [UInt8] = []
    private var failure: Misuse?
    /// Whether the path is that of a download's file, which must not be replaced.
    private(set) var isOccupied = false

    /// Prepares a file.
    ///
    /// - Parameters:
    ///   - path: The path of the file; a device, a pipe, or a descriptor of the process is written to directly.
    ///   - temporary: The path in the same directory at which the file is written before it is renamed; a file that a killed
    ///     process has left there is replaced. By default, it is a new path, which others can't predict.
    ///   - permissions: The permissions of a new file, which the umask restricts.
    init(_ path: String, temporary: String? = nil, permissions: mode_t = 0o666) throws(Misuse) {
        descriptor = Self.descriptor(path)
        if let descriptor, fcntl(descriptor, F_GETFD) < 0 { throw Misuse("\(path) cannot be written: \(Self.reason)") }
        // The target of a symbolic link is replaced, and not the link.
        let resolved = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        self.path = resolved.path
        if let temporary, unlink(temporary) != 0, errno != ENOENT {
            throw Misuse("\(temporary) cannot be replaced: \(Self.reason)", isUsage: false)
        }
        self.temporary = temporary ?? "\(self.path).\(String(UInt64.random(in: .min ... .max), radix: 36)).tmp"
        self.permissions = permissions
        let directory = resolved.deletingLastPathComponent().path
        if Self.kind(self.path) == S_IFDIR { throw Misuse("\(path) is a directory") }
        guard access(directory, W_OK) == 0 || descriptor != nil || !Self.isReplaceable(self.path) else {
            throw Misuse("\(path) cannot be written: \(Self.reason)")
        }
        var template = Array((FileManager.default.temporaryDirectory.path + "/batch-XXXXXX").utf8CString)
        spool = mkstemp(&template)
        guard spool >= 0 else { throw Misuse("a temporary file cannot be created: \(Self.reason)") }
        unlink(template)
        _ = fcntl(spool, F_SETFD, FD_CLOEXEC)
    }

    /// Adds text.
    mutating func add(_ text: String) {
        guard failure == nil else { return }
        buffer += text.utf8
        if buffer.count >= Self.pieceLength { flush() }
    }

    /// Writes the results to another path if this one is that of a download's file, which must not be replaced.
    mutating func protect(_ file: URL) {
        // Names aren't compared, because a volume may treat different ones as equal.
        let (own, other) = (Self.status(path), Self.status(file.path))
        guard let own, let other, own.st_dev == other.st_dev, own.st_ino == other.st_ino else { return }
        isOccupied = true
    }

    /// Writes the file, and returns the reason if that fails.
    ///
    /// - Parameters:
    ///   - header: The text before the added text.
    ///   - trailer: The text after it.
    mutating func finish(header: String = "", trailer: String = "") -> Misuse? {
        flush()
        defer { close(spool) }
        do throws(Misuse) {
            if let failure { throw failure }
            if let descriptor {
                try write(header, trailer, to: OutputFile(descriptor: descriptor, path: path))
                return nil
            }
            guard Self.isReplaceable(path) else {
                let file = try OutputFile(path, O_WRONLY)
                defer { file.close() }
                try write(header, trailer, to: file)
                return nil
            }
            let file = try OutputFile(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, permissions: permissions)
            defer { file.close() }
            do throws(Misuse) {
                try write(header, trailer, to: file)
                try file.synchronize()
                // Without a lock, another process may be writing there.
                guard file.isFile(at: temporary) else {
                    throw Misuse("\(path) is being written by another process", isUsage: false)
                }
                let reserved = isOccupied ? reservedPath() : nil
                // Without a numbered name, the results stay where they are.
                let destination = isOccupied ? reserved ?? temporary : path
                guard destination == temporary || rename(temporary, destination) == 0 else {
                    let failure = file.failure
                    if let reserved { unlink(reserved) }
                    throw failure
                }
                if isOccupied {
                    return Misuse(
                        "\(path) is the file of a download, so the results are in \(destination)", isUsage: false)
                }
            } catch {
                if file.isFile(at: temporary) { unlink(temporary) }
                throw error
            }
            return nil
        } catch {
            return error
        }
    }

    /// Creates an empty file whose path is that of this file with a number, and returns its path; nil if that fails.
    private func reservedPath() -> String? {
        for number in 1...Self.mostNumbers {
            let path = "\(path).\(number)"
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, permissions)
            if descriptor >= 0 {
                close(descriptor)
                return path
            }
            guard errno == EEXIST else { return nil }
        }
        return nil
    }

    private func write(_ header: String, _ trailer: String, to file: OutputFile) throws(Misuse) {
        try file.write(Array(header.utf8))
        var (offset, piece) = (off_t(0), [UInt8](repeating: 0, count: Self.pieceLength))
        while true {
            let count = pread(spool, &piece, piece.count, offset)
            guard count >= 0 else { throw file.failure }
            if count == 0 { break }
            try file.write(Array(piece[..<count]))
            offset += off_t(count)
        }
        try file.write(Array(trailer.utf8))
    }

    private mutating func flush() {
        guard failure == nil else { return }
        do throws(Misuse) {
            try OutputFile(descriptor: spool, path: "a temporary file").write(buffer)
        } catch {
            failure = error
        }
        buffer = []
    }

    /// Returns the descriptor that a path names.
    private static func descriptor(_ path: String) -> Int32? {
        let path = URL(fileURLWithPath: path).standardizedFileURL.path
        switch path {
        case "/dev/stdout": return STDOUT_FILENO
        case "/dev/stderr": return STDERR_FILENO
        default:
            let directory = ["/dev/fd/", "/proc/self/fd/"].first { path.hasPrefix($0) }
            return directory.flatMap { Int32(path.dropFirst($0.count)) }
        }
    }

    /// Whether the path leads to a regular file, or doesn't exist yet.
    private static func isReplaceable(_ path: String) -> Bool { kind(path).map { $0 == S_IFREG } ?? true }

    /// Returns the type of the file at the path; nil if there is none.
    private static func kind(_ path: String) -> mode_t? { status(path).map { $0.st_mode & S_IFMT } }

    private static func status(_ path: String) -> stat? {
        var status = stat()
        return stat(path, &status) == 0 ? status : nil
    }

    private static var reason: String { String(cString: strerror(errno)) }
}
