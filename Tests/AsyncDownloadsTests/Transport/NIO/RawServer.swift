#if ServerStack && os(Linux)
import AsyncDownloads
import Foundation
import Testing

/// A TCP server that responds to requests with raw bytes, connection by connection.
final class RawServer: Sendable {
    /// The responses of one connection, each of which follows one request; the connection is closed after the last one.
    typealias Script = [String]

    let port: UInt16
    private let descriptor: Int32
    private let counts = Mutex((connections: 0, requests: 0))

    /// The numbers of connections and requests so far.
    var count: (connections: Int, requests: Int) { counts.withLock { $0 } }

    init(_ scripts: [Script]) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
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
        Thread.detachNewThread { [self] in serve(scripts) }
    }

    func url() throws -> URL { try #require(URL(string: "http://127.0.0.1:\(port)/file")) }

    /// Serves one connection after the other, and then accepts no more.
    private func serve(_ scripts: [Script]) {
        for script in scripts {
            let connection = accept(descriptor, nil, nil)
            guard connection >= 0 else { break }
            counts.withLock { $0.connections += 1 }
            for response in script {
                guard readRequest(connection) else { break }
                counts.withLock { $0.requests += 1 }
                var text = response
                text.withUTF8 { _ = send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            }
            _ = shutdown(connection, Int32(SHUT_WR))
            // What the client still sends is read, so that its kernel doesn't discard a response.
            var rest = [UInt8](repeating: 0, count: 4096)
            while read(connection, &rest, rest.count) > 0 {}
            _ = close(connection)
        }
        _ = close(descriptor)
    }

    private func readRequest(_ connection: Int32) -> Bool {
        var request: [UInt8] = []
        var byte: UInt8 = 0
        while !request.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard read(connection, &byte, 1) == 1 else { return false }
            request.append(byte)
        }
        return true
    }
}
#endif
