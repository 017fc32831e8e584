internal import Foundation

/// The TCP ports of this machine.
enum LocalPort {
    /// Returns a port that no server uses at the moment.
    static func free() throws -> Int {
        guard let (descriptor, port) = address(0, binds: true) else { throw CocoaError(.fileReadUnknown) }
        close(descriptor)
        return port
    }

    /// Returns whether a server listens on a port.
    static func isListening(_ port: Int) -> Bool {
        guard let (descriptor, _) = address(port, binds: false) else { return false }
        close(descriptor)
        return true
    }

    /// Binds a socket to a port of this machine, or connects it; nil if that fails.
    private static func address(_ port: Int, binds: Bool) -> (descriptor: Int32, port: Int)? {
        let descriptor = streamSocket()
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = UInt16(port).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isDone = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard binds else { return connect(descriptor, address, length) == 0 }
                return bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
            }
        }
        guard isDone else {
            close(descriptor)
            return nil
        }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }
}
