#if canImport(Darwin)
internal import Darwin

/// Returns a new socket for TCP over IPv4, or a negative number if the system refuses.
func makeStreamSocket() -> Int32 {
    socket(AF_INET, SOCK_STREAM, 0)
}

/// Whether a server can listen on a port while another socket with SO_REUSEADDR is bound to it.
let portsCanBeReserved = false
#endif
