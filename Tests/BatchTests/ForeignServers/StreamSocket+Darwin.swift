#if canImport(Darwin)
internal import Darwin

/// A socket for TCP over IPv4, or a negative number.
func makeStreamSocket() -> Int32 {
    socket(AF_INET, SOCK_STREAM, 0)
}

/// Whether a server can listen at a port that a socket with SO_REUSEADDR keeps from being given to others.
let portsCanBeReserved = false
#endif
