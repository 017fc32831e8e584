internal import Foundation

/// An archive to which files are added (POSIX.1-2001, pax interchange format).
///
/// After a crash, an archive is continued at the end of a file that is known to be complete.
struct TarFile {
    private static let blockLength = 512
    private static let pieceLength = 1 << 20
    /// The first size that doesn't fit the eleven octal digits of a header.
    private static let firstLongSize: Int64 = 1 << 33

    private let output: OutputFile
    /// The length, at which the next file begins.
    private(set) var length: Int64

    /// Opens the archive at `path`, or creates it, and removes everything after `length`.
    init(_ path: String, length: Int64) throws(Misuse) {
        output = try OutputFile(path, O_RDWR | O_CREAT | O_NOFOLLOW)
        self.length = length
        guard lseek(output.descriptor, 0, SEEK_END) >= length else {
            output.close()
            throw Misuse("\(path) is shorter than it was when it was written")
        }
        guard ftruncate(output.descriptor, off_t(length)) == 0, lseek(output.descriptor, 0, SEEK_END) == length else {
            defer { output.close() }
            throw output.failure
        }
    }

    /// Adds a file under the given name.
    ///
    /// After an error, the archive is truncated to its earlier length, if the system permits it.
    mutating func add(_ file: URL, as name: String) throws(Misuse) {
        let start = length
        do throws(Misuse) {
            try append(file, as: name)
        } catch {
            // Otherwise, the next file would begin in the middle of this one.
            length = start
            ftruncate(output.descriptor, off_t(start))
            lseek(output.descriptor, off_t(start), SEEK_SET)
            throw error
        }
    }

    private mutating func append(_ file: URL, as name: String) throws(Misuse) {
        let descriptor = open(file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw Misuse("\(file.path) cannot be read") }
        let source = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        defer { try? source.close() }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Misuse("\(file.path) isn't a regular file")
        }
        let size = Int64(status.st_size)
        try write(Self.header(name, size: size, time: Int64(status.modificationTime)))
        var rest = size
        while rest > 0 {
            let piece = (try? source.read(upToCount: Int(min(rest, Int64(Self.pieceLength))))) ?? Data()
            guard !piece.isEmpty else { throw Misuse("\(file.path) cannot be read") }
            try write(piece)
            rest -= Int64(piece.count)
        }
        try write(Self.padding(size))
    }

    /// Makes the files that were added durable.
    func synchronize() throws(Misuse) { try output.synchronize() }

    /// Writes the end of the archive, and closes it.
    mutating func finish() throws(Misuse) {
        defer { close() }
        try write([UInt8](repeating: 0, count: 2 * Self.blockLength))
        try output.synchronize()
    }

    func close() { output.close() }

    private mutating func write(_ bytes: some Collection<UInt8> & ContiguousBytes) throws(Misuse) {
        try output.write(bytes)
        length += Int64(bytes.count)
    }

    /// Returns the header of a file, with an extended one before it if the name or the size needs it.
    static func header(_ name: String, size: Int64, time: Int64) -> [UInt8] {
        let bytes = Array(name.utf8)
        var records: [UInt8] = []
        let isShort = bytes.count <= 100 && bytes.allSatisfy { $0 < 0x80 }
        if !isShort { records += record("path", name) }
        if size >= firstLongSize { records += record("size", "\(size)") }
        // Programs that don't read extended headers use this name.
        let short = isShort ? bytes : Array("file-\(Digests.sha256(of: name).prefix(16))".utf8)
        let own = block(short, size: size < firstLongSize ? size : 0, time: time, type: "0")
        guard !records.isEmpty else { return own }
        let extended = block(Array("PaxHeaders/file".utf8), size: Int64(records.count), time: time, type: "x")
        return extended + records + padding(Int64(records.count)) + own
    }

    /// Returns a record of an extended header: its length, which includes its own digits, the keyword, and the value.
    private static func record(_ keyword: String, _ value: String) -> [UInt8] {
        let rest = " \(keyword)=\(value)\n"
        var length = rest.utf8.count
        while "\(length)".utf8.count + rest.utf8.count != length { length = "\(length)".utf8.count + rest.utf8.count }
        return Array("\(length)\(rest)".utf8)
    }

    private static func block(_ name: [UInt8], size: Int64, time: Int64, type: Unicode.Scalar) -> [UInt8] {
        func octal(_ value: Int64, _ digits: Int) -> [UInt8] {
            let text = String(max(0, value), radix: 8)
            return Array((String(repeating: "0", count: max(0, digits - text.utf8.count)) + text).utf8) + [0]
        }
        var block = name + [UInt8](repeating: 0, count: 100 - name.count)
        block += octal(0o644, 7) + octal(0, 7) + octal(0, 7)
        block += octal(size, 11) + octal(time, 11)
        let sumOffset = block.count
        block += Array("        ".utf8) + [UInt8(type.value)] + [UInt8](repeating: 0, count: 100)
        block += Array("ustar\0".utf8) + Array("00".utf8)
        block += [UInt8](repeating: 0, count: blockLength - block.count)
        let sum = block.reduce(0) { $0 + Int64($1) }
        block.replaceSubrange(sumOffset..<sumOffset + 8, with: octal(sum, 6) + Array(" ".utf8))
        return block
    }

    private static func padding(_ size: Int64) -> [UInt8] {
        [UInt8](repeating: 0, count: Int((Int64(blockLength) - size % Int64(blockLength)) % Int64(blockLength)))
    }
}

extension stat {
    /// The time of the last change, in seconds since 1970.
    fileprivate var modificationTime: Int {
        #if canImport(Darwin)
        Int(st_mtimespec.tv_sec)
        #else
        Int(st_mtim.tv_sec)
        #endif
    }
}
