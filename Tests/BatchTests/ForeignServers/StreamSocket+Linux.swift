#if !canImport(Darwin)
internal import Foundation

/// Returns a new socket for TCP over IPv4, or a negative number if the system refuses.
func makeStreamSocket() -> Int32 {
    socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
}

/// Whether a server can listen on a port while another socket with SO_REUSEADDR is bound to it.
let portsCanBeReserved = true
#endif
