#if !canImport(Darwin)
internal import Foundation

/// A socket for TCP over IPv4, or a negative number.
func makeStreamSocket() -> Int32 {
    socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
}
#endif
