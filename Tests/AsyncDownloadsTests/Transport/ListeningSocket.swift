#if os(Linux)
import Foundation
import Testing

/// A TCP socket of the loopback network that establishes connections; its owner closes the descriptor.
struct ListeningSocket {
    let descriptor: Int32
    let port: UInt16

    /// - Parameter number: The last byte of the address, after 127.0.0.
    init(address number: UInt32 = 1) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0000 + number).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        self.descriptor = descriptor
        port = try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                try #require(bind(descriptor, generic, length) == 0)
                try #require(listen(descriptor, 8) == 0)
                try #require(getsockname(descriptor, generic, &length) == 0)
            }
            return UInt16(bigEndian: pointer.pointee.sin_port)
        }
    }

    func url(_ scheme: String) throws -> URL { try #require(URL(string: "\(scheme)://127.0.0.1:\(port)/file")) }

    /// Accepts a client, and returns when its first byte has arrived.
    func waitForByte() async -> Int32 {
        await waitForConnection()
        let client = accept(descriptor, nil, nil)
        var descriptors = [pollfd(fd: client, events: Int16(POLLIN), revents: 0)]
        while poll(&descriptors, 1, 0) == 0 { await Task.yield() }
        return client
    }

    /// Waits until a client has connected.
    func waitForConnection() async {
        var descriptors = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
        while poll(&descriptors, 1, 0) == 0 { await Task.yield() }
    }
}
#endif
