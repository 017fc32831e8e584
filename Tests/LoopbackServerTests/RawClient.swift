internal import Foundation

/// A connection that is read and written with blocking calls, so that a test sees the bytes on the wire.
final class RawClient {
    /// The way in which the server closed the connection.
    enum End: Equatable {
        case closed, reset
    }

    struct Failure: Error {
        var call: String
        var code = errno
    }

    private let descriptor: CInt
    private var unread: [UInt8] = []

    init(port: Int) throws {
        descriptor = socket(AF_INET, RawClient.stream, 0)
        guard descriptor >= 0 else { throw Failure(call: "socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw Failure(call: "connect") }
    }

    deinit {
        close(descriptor)
    }

    func request(_ path: String) throws {
        try request("GET", path, [:])
    }

    func request(_ method: String, _ path: String, _ headers: [String: String]) throws {
        let fields = headers.map { "\($0.key): \($0.value)\r\n" }.joined()
        let bytes = Array("\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(fields)\r\n".utf8)
        guard send(descriptor, bytes, bytes.count, 0) == bytes.count else { throw Failure(call: "send") }
    }

    /// Reads the head of a response, up to the empty line.
    func head() throws -> Head {
        let end = Array("\r\n\r\n".utf8)
        var bytes: [UInt8] = []
        while !bytes.suffix(4).elementsEqual(end) { bytes += try read(exactly: 1) }
        return Head(String(decoding: bytes.dropLast(4), as: UTF8.self))
    }

    func read(exactly count: Int) throws -> [UInt8] {
        while unread.count < count {
            guard try receive() == nil else { throw Failure(call: "read(exactly: \(count)) after \(unread.count)") }
        }
        defer { unread.removeFirst(count) }
        return Array(unread.prefix(count))
    }

    func readToEnd() throws -> (bytes: [UInt8], end: End) {
        while true {
            if let end = try receive() {
                defer { unread = [] }
                return (unread, end)
            }
        }
    }

    /// Sends a request and reads the response, which must have a Content-Length.
    func exchange(
        _ path: String, _ headers: [String: String] = [:]
    ) throws -> (head: Head, body: [UInt8]) {
        try request("GET", path, headers)
        let head = try head()
        return (head, try read(exactly: Int(head["Content-Length"] ?? "") ?? 0))
    }

    private func receive() throws -> End? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var count = -1
        repeat { count = recv(descriptor, &buffer, buffer.count, 0) } while count < 0 && errno == EINTR
        if count == 0 { return .closed }
        if count < 0 {
            guard errno == ECONNRESET else { throw Failure(call: "recv") }
            return .reset
        }
        unread += buffer[..<count]
        return nil
    }

    /// Raises the limit of open descriptors, because a thousand connections need two thousand in this process.
    static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard getrlimit(descriptors, &limit) == 0 else { return }
        limit.rlim_cur = min(max(limit.rlim_cur, 4096), limit.rlim_max)
        setrlimit(descriptors, &limit)
    }

    #if canImport(Darwin)
    private static let descriptors = RLIMIT_NOFILE
    private static let stream = SOCK_STREAM
    #else
    private static let descriptors = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    private static let stream = CInt(SOCK_STREAM.rawValue)
    #endif

    /// The status and the fields of a response.
    struct Head {
        var status: Int
        var fields: [String: String] = [:]

        init(_ text: String) {
            let lines = text.components(separatedBy: "\r\n")
            status = Int(lines[0].split(separator: " ")[1]) ?? 0
            for line in lines.dropFirst() {
                let field = line.components(separatedBy: ": ")
                fields[field[0].lowercased()] = field.dropFirst().joined(separator: ": ")
            }
        }

        subscript(name: String) -> String? { fields[name.lowercased()] }
    }
}
