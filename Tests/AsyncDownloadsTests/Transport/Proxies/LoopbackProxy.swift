#if ServerStack && os(Linux)
import Foundation
import Testing

@testable import AsyncDownloads

/// A proxy on 127.0.0.1 that connects clients to servers of this machine, with one thread for each direction.
///
/// It accepts CONNECT and requests in absolute form, or SOCKS 5, and always connects to 127.0.0.1, whatever the name.
final class LoopbackProxy: Sendable {
    enum Kind: Sendable { case http, socks }

    /// The requests and the credentials that clients have sent.
    struct Record: Sendable, Equatable {
        /// The request lines of HTTP, or the targets of SOCKS.
        var targets: [String] = []
        /// The credentials: the value of Proxy-Authorization, or the user name and the password of SOCKS.
        var credentials: [String] = []
    }

    let port: Int
    private let kind: Kind
    /// The status of HTTP or the reply of SOCKS that every request receives; nil if requests are accepted.
    private let refusal: Int?
    private let requiresPassword: Bool
    private let socket: ListeningSocket
    private let state = Mutex(Record())

    /// The requests so far.
    var record: Record { state.withLock { $0 } }

    /// - Parameter address: The last byte of the proxy's address in the loopback network.
    init(_ kind: Kind, address: UInt32 = 1, refusing refusal: Int? = nil, requiresPassword: Bool = false) throws {
        self.kind = kind
        self.refusal = refusal
        self.requiresPassword = requiresPassword
        socket = try ListeningSocket(address: address)
        port = Int(socket.port)
        Thread.detachNewThread { [self] in
            while case let client = accept(socket.descriptor, nil, nil), client >= 0 {
                Thread.detachNewThread { [self] in
                    serve(client)
                    _ = close(client)
                }
            }
        }
    }

    /// Stops accepting clients.
    func stop() { _ = shutdown(socket.descriptor, Int32(SHUT_RDWR)) }

    private func serve(_ client: Int32) {
        switch kind {
        case .http: serveHTTP(client)
        case .socks: serveSOCKS(client)
        }
    }

    private func serveHTTP(_ client: Int32) {
        guard let head = readHead(client) else { return }
        let lines = head.components(separatedBy: "\r\n")
        let field = "proxy-authorization: "
        let credentials = lines.filter { $0.lowercased().hasPrefix(field) }.map { String($0.dropFirst(field.count)) }
        state.withLock { record in
            record.targets.append(lines[0])
            record.credentials += credentials
        }
        if let refusal { return send("HTTP/1.1 \(refusal) Refused\r\nContent-Length: 4\r\n\r\nbody", to: client) }
        let words = lines[0].components(separatedBy: " ")
        if words[0] == "CONNECT" {
            guard let server = connection(to: words[1]) else { return }
            // The length has to be ignored (RFC 9110, 9.3.6).
            send("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", to: client)
            join(client, server)
        } else if let url = URL(string: words[1]), let host = url.host(),
            let server = connection(to: "\(host):\(url.port ?? 80)")
        {
            let own = ["\(words[0]) \(url.path) HTTP/1.1", "Connection: close"]
            let rest = lines.dropFirst().filter { !$0.lowercased().hasPrefix(field) }
            send((own + rest).joined(separator: "\r\n"), to: server)
            join(client, server)
        }
    }

    /// RFC 1928 and RFC 1929.
    private func serveSOCKS(_ client: Int32) {
        guard let greeting = bytes(2, from: client), let methods = bytes(Int(greeting[1]), from: client) else { return }
        let method: UInt8 = requiresPassword ? 2 : 0
        guard methods.contains(method) else { return send([5, 0xFF], to: client) }
        send([5, method], to: client)
        if requiresPassword {
            guard let length = bytes(2, from: client)?[1], let user = bytes(Int(length), from: client),
                let passwordLength = bytes(1, from: client)?[0], let password = bytes(Int(passwordLength), from: client)
            else { return }
            let credentials = String(decoding: user + [UInt8(ascii: ":")] + password, as: UTF8.self)
            state.withLock { $0.credentials.append(credentials) }
            let isRight = credentials == "user:secret"
            send([1, isRight ? 0 : 1], to: client)
            if !isRight { return }
        }
        guard let request = bytes(4, from: client) else { return }
        let host: String
        switch request[3] {
        case 1: host = bytes(4, from: client)?.map(String.init).joined(separator: ".") ?? ""
        case 3:
            host =
                bytes(1, from: client).flatMap { bytes(Int($0[0]), from: client) }.map {
                    String(decoding: $0, as: UTF8.self)
                } ?? ""
        default: host = bytes(16, from: client).map { "\($0)" } ?? ""
        }
        guard let port = bytes(2, from: client) else { return }
        let target = "\(host):\(Int(port[0]) << 8 | Int(port[1]))"
        state.withLock { $0.targets.append(target) }
        let server = refusal == nil ? connection(to: target) : nil
        send([5, UInt8(refusal ?? 0), 0, 1, 0, 0, 0, 0, 0, 0], to: client)
        if let server { join(client, server) }
    }

    // MARK: - Sockets

    /// Connects to the port of a target, on 127.0.0.1.
    private func connection(to target: String) -> Int32? {
        guard let port = target.split(separator: ":").last.flatMap({ UInt16($0) }) else { return nil }
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        address.sin_port = port.bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if result == 0 { return descriptor }
        close(descriptor)
        return nil
    }

    /// Passes bytes in both directions until both have ended, and closes the connection to the server.
    private func join(_ client: Int32, _ server: Int32) {
        let ended = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            Self.copy(from: client, to: server)
            ended.signal()
        }
        Self.copy(from: server, to: client)
        ended.wait()
        close(server)
    }

    private static func copy(from source: Int32, to target: Int32) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        copying: while case let count = read(source, &buffer, buffer.count), count > 0 {
            var sent = 0
            while sent < count {
                let result = buffer[sent..<count].withUnsafeBytes {
                    Glibc.send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard result > 0 else { break copying }
                sent += result
            }
        }
        // What one side can't send or take any more, the other doesn't need.
        _ = shutdown(source, Int32(SHUT_RD))
        _ = shutdown(target, Int32(SHUT_WR))
    }

    private func readHead(_ client: Int32) -> String? {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard let byte = bytes(1, from: client) else { return nil }
            head += byte
        }
        return String(decoding: head, as: UTF8.self)
    }

    private func bytes(_ count: Int, from client: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return count == 0 || recv(client, &bytes, count, Int32(MSG_WAITALL)) == count ? bytes : nil
    }

    private func send(_ text: String, to descriptor: Int32) { send(Array(text.utf8), to: descriptor) }

    private func send(_ bytes: [UInt8], to descriptor: Int32) {
        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
}
#endif
