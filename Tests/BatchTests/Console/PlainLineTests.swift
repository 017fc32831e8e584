internal import AsyncDownloads
internal import Foundation
internal import TestSupport
internal import Testing

@testable import batch

@Suite(.endsWhenHung) struct PlainLineTests {
    @Test func `each life-cycle event has a line`() throws {
        let lines: [(DownloadEvent, String)] = [
            (
                .started(expectedByteCount: 2048, isResumable: true, suggestedName: nil, contentType: nil),
                "started   file.bin, 2.0 KiB"
            ),
            (
                .started(expectedByteCount: nil, isResumable: false, suggestedName: nil, contentType: nil),
                "started   file.bin, of unknown length, not resumable"
            ),
            (.resumed(fromOffset: 5), "resumed   file.bin at byte 5"),
            (
                .restarted(reason: .rangeIgnored, discardedByteCount: 1024),
                "restarted file.bin, 1.0 KiB discarded: rangeIgnored"
            ),
            (
                .retrying(attempt: 2, delay: .seconds(1), error: DownloadError(.connectionLost, "reset")),
                "retrying  file.bin in 1.0 s, attempt 2 after: connectionLost: reset"
            ),
            (.omitted(count: 1), "omitted   file.bin, 1 event"),
            (.finished(.sample), "finished  file.bin, 2.0 KiB in 1.0 s, 1.0 KiB fetched"),
        ]
        for (event, text) in lines {
            #expect(try PlainLine(.sample(event, fetched: 1024))?.text(usesColor: false) == text)
        }
    }

    @Test func `a wait for a host has a line, which names the host`() throws {
        let end = Date(timeIntervalSince1970: 12)
        for (reason, text) in [
            (WaitingReason.coolDown(until: end), "waiting   for example.org, which asks to wait, 0:12"),
            (.hostUnreachable(until: end), "waiting   for example.org, which can't be reached, 0:12"),
        ] {
            let item = Item(address: try Address("http://example.org/file.bin"))
            let event = RunEvent(
                item, time: .seconds(2), date: Date(timeIntervalSince1970: 0), .success(.waiting(reason: reason)))
            #expect(PlainLine(event)?.text(usesColor: false) == text)
        }
    }

    @Test(arguments: [(false, "unchanged"), (true, "exists    ")])
    func `a file that was kept without a check isn't called unchanged`(_ keepsFiles: Bool, _ verb: String) throws {
        var file = DownloadedFile.sample
        file.isReused = true
        let line = try PlainLine(.sample(.finished(file)), keepsFiles: keepsFiles)
        #expect(line?.text(usesColor: false).hasPrefix(verb) == true)
    }

    @Test func `progress and waiting for a turn have no line`() throws {
        #expect(try PlainLine(.sample(.waiting(reason: .turn))) == nil)
        #expect(try PlainLine(.sample(.progress(DownloadProgress()))) == nil)
    }

    @Test func `a line that weighs too little is not created`() throws {
        let (started, finished) = (DownloadEvent.resumed(fromOffset: 5), DownloadEvent.finished(.sample))
        #expect(try PlainLine(.sample(started), atLeast: .lasting) == nil)
        #expect(try PlainLine(.sample(finished), atLeast: .lasting)?.weight == .lasting)
        #expect(try PlainLine(.sample(finished), atLeast: .error) == nil)
        #expect(try PlainLine(.sample(failure: .notFound), atLeast: .error) != nil)
    }

    @Test func `the line of a failure states the reason, the URL, and the kept bytes, and no secret`() throws {
        let line = try #require(PlainLine(.sample(failure: .notFound)))
        #expect(line.weight == .error)
        #expect(line.text(usesColor: false) == "failed    httpStatus (404) [http://example.org/file.bin]; 5 bytes kept")
    }

    @Test func `control and format characters in a name are replaced`() throws {
        var file = DownloadedFile.sample
        file.url = URL(fileURLWithPath: "/d/a\u{1B}[2J\nb\u{202E}c")
        let text = try PlainLine(.sample(.finished(file)))?.text(usesColor: false)
        #expect(text?.hasPrefix("finished  a\u{FFFD}[2J\u{FFFD}b\u{FFFD}c, ") == true)
    }

    @Test func `an error is red if color is used`() throws {
        let line = try #require(PlainLine(.sample(failure: .notFound)))
        #expect(line.text(usesColor: true).hasPrefix("\u{1B}[31mfailed    \u{1B}[0m"))
    }
}
