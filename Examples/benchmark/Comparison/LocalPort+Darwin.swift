#if canImport(Darwin)
internal import Darwin

extension LocalPort {
    /// Creates a TCP socket.
    static func streamSocket() -> Int32 { socket(AF_INET, SOCK_STREAM, 0) }
}
#endif
