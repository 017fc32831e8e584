extension POSIXFileSystem {
    /// Copies the bytes of `file` to the same offsets of `copy`, through this process's memory.
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

    /// Renames a file to an unused name on systems without such a function: an empty file reserves the name first.
    func reserveAndRename(_ path: String, to destination: String) throws(FileFailure) {
        let handle = try open(destination, .new)
        let reservation = Result { () throws(FileFailure) in try information(of: handle) }
        close(handle)
        do {
            try rename(path, to: destination)
        } catch {
            if let found = try? information(at: destination), let own = try? reservation.get(),
                found.isSameFile(as: own)
            {
                try? remove(destination)
            }
            throw error
        }
    }
}
