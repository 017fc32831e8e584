internal import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Tests of the bytes on the wire.
@Suite(.endsWhenHung)
struct WireTests {
    private let text = "HTTP answers\n"

    /// Sends a request to a server with one resource, and reads until the connection is closed.
    private func answer(
        _ step: Step, framing: Resource.Framing = .contentLength, method: String = "GET"
    ) async throws -> (text: String, end: RawClient.End) {
        try await LoopbackServer.withServer { server in
            var resource = Resource(.text(text))
            resource.framing = framing
            resource.script = [step]
            server.serve(resource, at: "text")
            let client = try RawClient(port: server.port)
            try client.request(method, "/text", ["Connection": "close"])
            let (bytes, end) = try client.readToEnd()
            return (String(decoding: bytes, as: UTF8.self), end)
        }
    }

    @Test func `a response without faults is well-formed`() async throws {
        let lines = try await answer([]).text.components(separatedBy: "\r\n")
        #expect(lines.first == "HTTP/1.1 200 OK")
        #expect(lines.contains("Content-Length: \(text.utf8.count)"))
        #expect(lines.suffix(2) == ["", text])
    }

    @Test func `the response to HEAD has a Content-Length and no body`() async throws {
        let answer = try await answer([.header("Date", "now")], method: "HEAD").text
        #expect(answer.contains("Content-Length: \(text.utf8.count)\r\n"))
        #expect(answer.hasSuffix("\r\n\r\n"))
    }

    @Test func `a chunked body ends with the last chunk unless it is cut`() async throws {
        let chunk = "\r\n\r\n\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n"
        #expect(try await answer([], framing: .chunked).text.hasSuffix(chunk + "0\r\n\r\n"))
        #expect(try await answer([.chunkedWithoutEnd]).text.hasSuffix(chunk))
        #expect(try await answer([.cut(after: 4)], framing: .chunked).text.hasSuffix("\r\n\r\n4\r\nHTTP\r\n"))
    }

    @Test func `a close-delimited body ends with the connection`() async throws {
        let answer = try await answer([], framing: .closeDelimited)
        #expect(!answer.text.contains("Content-Length"))
        #expect(answer.text.hasSuffix("\r\n\r\n" + text))
        #expect(answer.end == .closed)
    }

    @Test(
        arguments: [
            (.closeBeforeHead(), "", .closed),
            (.closeBeforeHead(.reset), "", .reset),
            (.closeInsideHead(afterBytes: 9), "HTTP/1.1 ", .closed),
            (.garbage, "\u{16}\u{03}this is not HTTP\r\n\r\n", .closed),
        ] as [(Fault, String, RawClient.End)])
    func `a fault can prevent a complete head`(fault: Fault, text: String, end: RawClient.End) async throws {
        let answer = try await answer([fault])
        #expect(answer.text == text)
        #expect(answer.end == end)
    }

    @Test func `the connection is closed after more bytes than declared`() async throws {
        let plain = try await answer([.header("Date", "now")]).text
        let longer = try await answer([.header("Date", "now"), .extraBytes(5)])
        #expect(longer.text.hasPrefix(plain))
        #expect(longer.end == .closed)
    }

    @Test func `a head can be delayed and very long`() async throws {
        let answer = try await answer([.delayHead(.milliseconds(1)), .hugeHeader(bytes: 100_000)]).text
        #expect(answer.contains("X-Padding: " + String(repeating: "a", count: 100_000) + "\r\n"))
    }
}
