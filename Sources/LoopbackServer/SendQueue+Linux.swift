#if ServerStack && !canImport(Darwin)
internal import Foundation

/// The number of bytes that the peer of a socket has not acknowledged yet.
func bytesInSendQueue(of socket: CInt) -> Int {
    var count: CInt = 0
    return ioctl(socket, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
}
#endif
