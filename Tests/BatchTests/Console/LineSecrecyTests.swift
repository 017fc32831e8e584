internal import AsyncDownloads
internal import Foundation
internal import TestSupport
internal import Testing

@testable import batch

/// Tests that no displayed form of an event contains a secret.
@Suite(.endsWhenHung)
struct LineSecrecyTests {
    private static let url = URL(string: "http://user:s3cret@example.org/file.bin?s3cret=1#s3cret")
    private static let error = DownloadError(
        .connectionLost, url: url,
        underlyingError: URLError(.timedOut, userInfo: ["NSErrorFailingURLStringKey": "s3cret"]))
    private static let file: DownloadedFile = {
        var file = DownloadedFile.sample
        if let url { file.finalURL = url }
        return file
    }()

    static let events: [DownloadEvent] = [
        .waiting(reason: .turn),
        .started(expectedByteCount: 10, isResumable: true, suggestedName: nil, contentType: nil),
        .resumed(fromOffset: 5),
        .restarted(reason: .contentChanged, discardedByteCount: 5), .progress(DownloadProgress(receivedByteCount: 7)),
        .retrying(attempt: 1, delay: .seconds(1), error: error), .paused(receivedByteCount: 5),
        .released(byteCount: 5, isOnDisk: true), .omitted(count: 5), .verifying, .finished(file),
    ]

    @Test(arguments: events)
    func `no line of an event contains a secret`(_ event: DownloadEvent) throws {
        try Self.expectNoSecret(in: .success(event))
    }

    @Test func `no line of a failure contains a secret`() throws {
        try Self.expectNoSecret(in: .failure(Self.error))
    }

    @Test(arguments: [
        "http://user:s3cret@example.org?s3cret", "http://user:s3cret@example.org/?s3cret#s3cret",
        "http://user:s3cret@example.org#s3cret",
    ])
    func `the name of a download whose URL has no path contains no secret`(_ url: String) throws {
        #expect(try Item(address: Address(url)).name == "download")
    }

    private static func expectNoSecret(in what: Result<DownloadEvent, DownloadError>) throws {
        let item = Item(address: try Address("http://user:s3cret@example.org/file.bin?s3cret=1#s3cret"))
        let event = RunEvent(item, time: .seconds(2), elapsed: .seconds(1), fetched: 1, what)
        var display = LiveDisplay()
        display.take(event)
        var texts = display.lines(columns: 200, height: 24, now: .seconds(2))
        if let line = JSONLine(event) { texts.append("\(line)") }
        if let line = PlainLine(event) { texts.append(line.text(usesColor: true)) }
        for text in texts { #expect(!text.contains("s3cret") && !text.contains("user"), "\(text)") }
    }
}
