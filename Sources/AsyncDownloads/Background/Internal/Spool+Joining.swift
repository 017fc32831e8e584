/// The first bytes of a resource that another downloader has received, and the part that the service has fetched.
extension Spool {
    /// Copies the first bytes of another downloader's file into the spool, and returns the name of the copy.
    func importBase(_ file: OpenFile, byteCount: Int64, of record: Int) throws(FileFailure) -> String {
        let name = "\(record)-0.base"
        try disk.remove(path(name))
        let copy = try disk.duplicate(file, to: path(name))
        defer { disk.close(copy) }
        guard try disk.information(of: copy).size >= byteCount else {
            try disk.remove(path(name))
            throw FileFailure(.other, errno: 0, operation: "copy", name: name, reason: "the file has become shorter")
        }
        try disk.truncate(copy, to: byteCount)
        try disk.synchronize(copy)
        return name
    }

    /// Appends a fragment to a base, and returns the inode number of the base.
    ///
    /// The bytes have fixed positions, so that a later process may append them again after a crash.
    func join(_ base: BackgroundBase, _ fragment: String, length: Int64) throws(FileFailure) -> UInt64 {
        let source = try disk.open(path(fragment), .reading)
        defer { disk.close(source) }
        let target = try disk.open(path(base.fileName), .existing)
        defer { disk.close(target) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 64)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while true {
            let count = try disk.read(into: buffer, from: source, at: offset)
            guard count > 0 else { break }
            try disk.write(
                UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: target, at: base.byteCount + offset)
            offset += Int64(count)
        }
        try disk.truncate(target, to: length)
        try disk.synchronize(target)
        return try disk.information(of: target).inode
    }
}
