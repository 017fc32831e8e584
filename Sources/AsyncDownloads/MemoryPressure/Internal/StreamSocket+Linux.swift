#if os(Linux)
#if canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// Unix domain sockets that don't block and aren't inherited by other programs.
enum StreamSocket {
    #if canImport(Musl)
    private static let type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK
    #else
    private static let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    #endif

    /// Connects to the socket at `path`; returns a negative number if that fails, with the reason in `errno`.
    static func connect(to path: String) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let isShortEnough = withUnsafeMutableBytes(of: &address.sun_path) { field in
            field.copyBytes(from: path.utf8.prefix(field.count - 1))
            return path.utf8.count < field.count
        }
        guard isShortEnough else {
            errno = ENAMETOOLONG
            return -1
        }
        let number = socket(AF_UNIX, type, 0)
        guard number >= 0 else { return -1 }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let answer = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { systemConnect(number, $0, length) }
        }
        if answer == 0 { return number }
        let code = errno
        _ = systemClose(number)
        errno = code
        return -1
    }

    /// Returns the two ends of a connection, or `nil` if no file descriptors are available.
    static func pair() -> (Int32, Int32)? {
        var numbers: [Int32] = [-1, -1]
        return socketpair(AF_UNIX, type, 0, &numbers) == 0 ? (numbers[0], numbers[1]) : nil
    }

    /// Sends as many bytes as fit, without a signal if the other end is closed.
    static func send(_ bytes: UnsafeRawBufferPointer, to number: Int32) -> Int {
        systemSend(number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    }
}

// The system's functions under other names, because the functions above hide them.

private func systemConnect(_ number: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    connect(number, address, length)
}

private func systemSend(_ number: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32) -> Int {
    send(number, bytes, count, flags)
}
#endif
