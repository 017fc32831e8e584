extension POSIXFileSystem {
    /// Copies what is in `file` to the same places in `copy`, through this process's memory.
    func copyBytes(of file: OpenFile, to copy: OpenFile) throws(FileFailure) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        var position: Int64 = 0
        while true {
            let count = try read(into: buffer, from: file, at: position)
            guard count > 0 else { return }
            try write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: copy, at: position)
            position += Int64(count)
        }
    }
}
