/// The files of the old version of a directory that have a second name in the staged directory.
///
/// The marker of the staged directory records them for the next owner: for each file, the hash value of its path and its
/// inode, as two little-endian numbers of eight bytes.
struct StagedLinks: Sendable {
    private var inodes: [UInt64: UInt64] = [:]

    init() {}

    /// Reads a marker; a marker that can't be read contains nothing.
    init(at path: String, on disk: any FileSystem) {
        guard let file = try? disk.open(path, .reading) else { return }
        defer { disk.close(file) }
        guard let information = try? disk.information(of: file), information.kind == .regular else { return }
        let count = Int(information.size) / 16 * 16
        guard let bytes = try? disk.contents(of: file, count: count), bytes.count == count else { return }
        bytes.withUnsafeBytes { buffer in
            for offset in stride(from: 0, to: buffer.count, by: 16) {
                let key = UInt64(littleEndian: buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                inodes[key] = UInt64(littleEndian: buffer.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self))
            }
        }
    }

    /// Writes the contents of a marker to a new file.
    func write(to file: OpenFile, on disk: any FileSystem) throws(FileFailure) {
        var numbers: [UInt64] = []
        numbers.reserveCapacity(2 * inodes.count)
        for (key, inode) in inodes { numbers += [key.littleEndian, inode.littleEndian] }
        let result = numbers.withUnsafeBytes { buffer in
            Result { () throws(FileFailure) in if !buffer.isEmpty { try disk.write(buffer, to: file, at: 0) } }
        }
        try result.get()
    }

    mutating func insert(_ file: FileInformation, at path: String) { inodes[Self.key(path)] = file.inode }

    /// Whether the file is the one that the old version had at the path.
    func contain(_ file: FileInformation, at path: String) -> Bool { inodes[Self.key(path)] == file.inode }

    /// Whether the old version had the same file at the path as at another time, or none at both times.
    func hasSameFile(as other: Self, at path: String) -> Bool { inodes[Self.key(path)] == other.inodes[Self.key(path)] }

    /// Returns the FNV-1a hash of a path, which is the same in every process.
    private static func key(_ path: String) -> UInt64 {
        path.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
