internal import Foundation

/// A file descriptor for writing, whose functions throw errors that can be shown.
struct OutputFile: Sendable {
    let descriptor: Int32
    private let path: String

    /// Opens the file at `path`; programs that the process starts do not inherit it.
    init(_ path: String, _ flags: Int32, permissions: mode_t = 0o666) throws(Misuse) {
        self.path = path
        descriptor = open(path, flags | O_CLOEXEC, permissions)
        guard descriptor >= 0 else { throw failure }
    }

    /// Creates a value for a descriptor that is open already.
    ///
    /// - Parameter path: The path in messages.
    init(descriptor: Int32, path: String) {
        (self.descriptor, self.path) = (descriptor, path)
    }

    /// Writes all bytes at the current position.
    func write(_ bytes: some ContiguousBytes) throws(Misuse) {
        if let number = tryToWrite(bytes) { throw failure(number) }
    }

    /// Writes all bytes at the current position, and returns the system's number of the error if that fails.
    func tryToWrite(_ bytes: some ContiguousBytes) -> Int32? {
        bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let count = systemWrite(descriptor, UnsafeRawBufferPointer(rebasing: rest))
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN {
                    // Another process may have made a shared pipe or terminal nonblocking.
                    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    _ = poll(&request, 1, -1)
                    continue
                }
                guard count >= 0 else { return errno }
                rest = rest.dropFirst(count)
            }
            return nil
        }
    }

    /// Returns the bytes of a file that is open for reading as well.
    func contents() throws(Misuse) -> Data {
        var (data, piece) = (Data(), [UInt8](repeating: 0, count: 1 << 16))
        while true {
            let count = pread(descriptor, &piece, piece.count, off_t(data.count))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure }
            if count == 0 { return data }
            data += piece[..<count]
        }
    }

    /// Makes the bytes durable.
    func synchronize() throws(Misuse) {
        guard fsync(descriptor) == 0 else { throw failure }
    }

    /// Returns whether the path leads to this file, and not to another one that has taken its place.
    func isFile(at path: String) -> Bool {
        var (own, found) = (stat(), stat())
        guard fstat(descriptor, &own) == 0, lstat(path, &found) == 0 else { return false }
        return own.st_dev == found.st_dev && own.st_ino == found.st_ino
    }

    /// Makes the names in a directory durable, as far as the file system permits it.
    static func synchronizeDirectory(_ path: String) throws(Misuse) {
        let directory = try OutputFile(path, O_RDONLY | O_DIRECTORY)
        fsync(directory.descriptor)
        directory.close()
    }

    func close() {
        systemClose(descriptor)
    }

    /// The error of the last system call.
    var failure: Misuse { failure(errno) }

    /// Returns the error with a number of the system.
    func failure(_ number: Int32) -> Misuse {
        Misuse("\(path) cannot be written: \(String(cString: strerror(number)))", isUsage: false)
    }
}

/// Writes with write(2), whose name a method of ``OutputFile`` has.
private func systemWrite(_ file: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(file, bytes.baseAddress, bytes.count)
}

/// Closes with close(2), whose name a method of ``OutputFile`` has.
private func systemClose(_ file: Int32) {
    close(file)
}
