#if ServerStack && os(Linux)
import AsyncDownloads
import Foundation

/// A TCP server that responds to requests with raw bytes, connection by connection.
final class RawServer: Sendable {
    /// The responses of one connection, one for each request; the connection is closed after the last one.
    typealias Script = [String]

    private let socket: ListeningSocket
    private let counts = Mutex((connections: 0, requests: 0))

    /// The numbers of connections and requests so far.
    var count: (connections: Int, requests: Int) { counts.withLock { $0 } }

    init(_ scripts: [Script]) throws {
        socket = try ListeningSocket()
        Thread.detachNewThread { [self] in serve(scripts) }
    }

    func url() throws -> URL { try socket.url("http") }

    /// Serves one connection after another, and then accepts no more.
    private func serve(_ scripts: [Script]) {
        for script in scripts {
            let connection = accept(socket.descriptor, nil, nil)
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
        _ = close(socket.descriptor)
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
