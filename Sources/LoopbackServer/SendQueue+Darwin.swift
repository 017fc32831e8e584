#if canImport(Darwin)
internal import Darwin

/// Returns the number of sent bytes that the peer of a socket has not acknowledged.
func bytesInSendQueue(of socket: CInt) -> Int {
    var count: CInt = 0
    var size = socklen_t(MemoryLayout<CInt>.size)
    return getsockopt(socket, SOL_SOCKET, SO_NWRITE, &count, &size) == 0 ? Int(count) : 0
}
#endif
