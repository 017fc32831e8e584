internal import struct Foundation.Data

extension PartialFile {
    /// Reads up to `buffer.count` bytes at `offset`, and returns the number of bytes read; 0 at the end of the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DownloadError) -> Int {
        if let count = withState({ $0.body?.read(into: buffer, at: offset) }) { return count }
        do {
            return try withFile { file throws(FileFailure) in
                try store.disk.read(into: buffer, from: file.handle, at: offset)
            }
        } catch {
            throw DownloadError(error)
        }
    }

    /// Returns the first `length` bytes, which must all have been received.
    func contents(length: Int64) throws(DownloadError) -> Data {
        if let bytes = withState({ $0.body?.prefix(length) }) { return bytes }
        var bytes = Data(count: Int(length))
        var filled = 0
        while filled < bytes.count {
            let result = bytes.withUnsafeMutableBytes { buffer in
                Result { () throws(DownloadError) in
                    try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]), at: Int64(filled))
                }
            }
            let count = try result.get()
            guard count > 0 else { throw DownloadError(.storageFailure, "the partial file is shorter than expected") }
            filled += count
        }
        return bytes
    }

    /// Returns whether the bytes at `offset` equal `bytes`.
    func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DownloadError) -> Bool {
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: min(bytes.count, 64 << 10), alignment: 16)
        defer { piece.deallocate() }
        var position = 0
        while position < bytes.count {
            let wanted = min(piece.count, bytes.count - position)
            let count = try read(
                into: UnsafeMutableRawBufferPointer(rebasing: piece[..<wanted]), at: offset + Int64(position))
            guard count > 0, piece[..<count].elementsEqual(bytes[position..<position + count]) else { return false }
            position += count
        }
        return true
    }
}
