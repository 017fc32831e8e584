#if !canImport(Darwin)
internal import Foundation

/// A socket for TCP over IPv4, or a negative number.
func makeStreamSocket() -> Int32 {
    socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
}

/// Whether a server can listen at a port that a socket with SO_REUSEADDR keeps from being given to others.
let portsCanBeReserved = true
#endif
