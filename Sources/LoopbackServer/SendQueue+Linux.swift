#if !canImport(Darwin)
internal import Foundation

/// Returns the number of sent bytes that the peer of a socket has not acknowledged.
func bytesInSendQueue(of socket: CInt) -> Int {
    var count: CInt = 0
    return ioctl(socket, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
}
#endif
