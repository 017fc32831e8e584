extension FileSystem {
    /// Reads until the buffer is full or the file ends, and returns the number of bytes.
    func readFully(
        into buffer: UnsafeMutableRawBufferPointer, from file: OpenFile, at offset: Int64
    ) throws(FileFailure) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = try read(into: rest, from: file, at: offset + Int64(filled))
            guard count > 0 else { break }
            filled += count
        }
        return filled
    }

    /// Returns the first `count` bytes of a file, or all bytes if it is shorter.
    func contents(of file: OpenFile, count: Int) throws(FileFailure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let result = bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(FileFailure) in try readFully(into: buffer, from: file, at: 0) }
        }
        bytes.removeLast(count - (try result.get()))
        return bytes
    }
}
