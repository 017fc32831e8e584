import Foundation
import Logging
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// The messages for the operator of a program.
@Suite(.endsWhenHung)
struct LogTests {
    private static let content = Content(seed: 98, length: 300_000)

    @Test func `messages say what had a cost, without secrets`() async throws {
        let messages = Mutex<[LogMessage]>([])
        try await TestEnvironment.with(
            configure: { $0.onLog = { message in messages.withLock { $0.append(message) } } }
        ) { environment async throws in
            environment.server.serve(
                Resource(
                    Self.content, entityTag: "\"a\"",
                    script: [
                        [.cut(after: 100_000)],
                        [.replaceContent(Content(seed: 99, length: 200_000), entityTag: "\"b\"")],
                    ]), at: "/a")
            var request = environment.request("/a")
            request.url.append(queryItems: [URLQueryItem(name: "signature", value: "s3cret")])
            _ = try await environment.downloader.download(request)
            request = environment.request("/missing?s3cret", to: "missing")
            _ = await environment.result(of: request)
            let texts = messages.withLock { $0 }
            let url = environment.server.url("/a").absoluteString
            #expect(texts.map(\.level) == [.debug, .notice, .debug, .notice])
            #expect(texts[0].text.hasPrefix("retry 1 in ") && texts[0].error != nil)
            #expect(texts[1] == LogMessage("restarted, contentChanged, 100000 bytes discarded", url: url))
            #expect(texts[2] == LogMessage("finished", level: .debug, url: url))
            #expect(texts[3].text == "failed" && texts[3].error?.contains("404") == true)
            #expect(!"\(texts)".contains("s3cret"))
        }
    }

    @Test func `a closure may use the download that a message is about`() async throws {
        let download = Mutex<Download?>(nil)
        let messages = Mutex<[String]>([])
        try await TestEnvironment.with(
            configure: {
                $0.onLog = { message in
                    let state = download.withLock { $0 }?.snapshot.state
                    messages.withLock { $0.append("\(message.text): \(state.map { "\($0)" } ?? "")") }
                }
            }
        ) { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: 100_000)]]), at: "/a")
            var request = environment.request("/a")
            request.destination = .memory
            let first = environment.downloader.start(request)
            try await first.progress(reaching: 100_000)
            download.withLock { $0 = first }
            // A file is where the directory of the destination would be.
            try Data().write(to: environment.directory.appending(path: "occupied"))
            let second = environment.downloader.start(environment.request("/a", to: "occupied/file"))
            #expect(await second.failure?.code == .destinationUnusable)
            environment.server.release("/a")
            _ = try await first.file
            #expect(messages.withLock { $0 }.contains("a body stays in memory: downloading"))
        }
    }

    #if ServerStack
    @Test func `a logger receives messages with its metadata`() async throws {
        let recorder = Recorder()
        try await TestEnvironment.with(
            configure: {
                var logger = Logger(label: "app") { _ in recorder }
                logger[metadataKey: "request-id"] = "7"
                $0.logger = logger
            }
        ) { environment async throws in
            _ = await environment.result(of: environment.request("/missing?s3cret"))
            let entry = try #require(recorder.entries.withLock { $0 }.first)
            #expect(entry.contains("notice failed") && entry.contains("request-id=7"))
            #expect(entry.contains("url=\(environment.server.url("/missing"))") && entry.contains("error="))
            #expect(!entry.contains("s3cret"))
        }
    }
    #endif
}

#if ServerStack
/// A handler that keeps all log messages.
private struct Recorder: LogHandler {
    final class Entries: Sendable {
        private let entries = Mutex<[String]>([])
        func withLock<Value>(_ body: (inout [String]) -> Value) -> Value { entries.withLock { body(&$0) } }
    }

    let entries = Entries()
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = self.metadata.merging(event.metadata ?? [:]) { $1 }.map { "\($0.key)=\($0.value)" }
        entries.withLock { $0.append("\(event.level) \(event.message) \(all.sorted().joined(separator: " "))") }
    }
}
#endif
