#if canImport(Darwin)
internal import Darwin

/// A socket for TCP over IPv4, or a negative number.
func makeStreamSocket() -> Int32 {
    socket(AF_INET, SOCK_STREAM, 0)
}
#endif
