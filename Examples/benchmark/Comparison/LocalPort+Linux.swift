#if !canImport(Darwin)
internal import Foundation

extension LocalPort {
    /// Creates a TCP socket.
    static func streamSocket() -> Int32 { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
}
#endif
