internal import AsyncDownloads
internal import Foundation
internal import TestSupport
internal import Testing

@testable import batch

@Suite(.endsWhenHung) struct JSONLineTests {
    @Test func `each event has the documented members in the documented order`() throws {
        let lost = DownloadError(.connectionLost)
        let progress = DownloadProgress(
            receivedByteCount: 7, expectedByteCount: 10, bytesPerSecond: 12.6, connectionCount: 2)
        let lines: [(DownloadEvent, String)] = [
            (
                .started(expectedByteCount: 10, isResumable: true, suggestedName: nil, contentType: nil),
                #""started","id":0,"url":"http://example.org/file.bin","total":10,"resumable":true"#
            ),
            (
                .started(expectedByteCount: nil, isResumable: false, suggestedName: nil, contentType: nil),
                #""started","id":0,"url":"http://example.org/file.bin","total":null,"resumable":false"#
            ),
            (.resumed(fromOffset: 5), #""resumed","id":0,"offset":5"#),
            (
                .restarted(reason: .contentChanged, discardedByteCount: 5),
                #""restarted","id":0,"reason":"contentChanged","discarded":5"#
            ),
            (
                .retrying(attempt: 2, delay: .milliseconds(1500), error: lost),
                #""retrying","id":0,"attempt":2,"delay":1.5,"error":"connectionLost""#
            ),
            (.progress(progress), #""progress","id":0,"received":7,"total":10,"bytesPerSecond":13,"connections":2"#),
            (
                .progress(DownloadProgress(receivedByteCount: 7)),
                #""progress","id":0,"received":7,"total":null,"bytesPerSecond":null,"connections":0"#
            ),
            (.paused(receivedByteCount: 7), #""paused","id":0,"received":7"#),
            (
                .finished(.sample),
                #""finished","id":0,"path":"/d/file.bin","bytes":2048,"seconds":1.0,"fetched":1024,"sha256":null,"entityTag":null"#
            ),
        ]
        for (event, members) in lines {
            let line = try #require(JSONLine(.sample(event, fetched: 1024)))
            #expect("\(line)" == #"{"event":\#(members),"time":2.0}"#)
        }
    }

    @Test func `a failure has a code and a status`() throws {
        let line = try #require(JSONLine(.sample(failure: .notFound)))
        #expect(
            "\(line)" == #"{"event":"failed","id":0,"code":"httpStatus","status":404,"retryable":false,"kept":5,"#
                + #""time":2.0}"#)
    }

    @Test func `a failure without a response has no status`() throws {
        let line = try #require(JSONLine(.sample(failure: DownloadError(.cannotConnect))))
        #expect("\(line)".contains(#""status":null,"retryable":true,"kept":0"#))
    }

    @Test func `waiting for a turn, verifying, and omitted events have no line`() throws {
        #expect(try JSONLine(.sample(.omitted(count: 5))) == nil)
        #expect(try JSONLine(.sample(.waiting(reason: .turn))) == nil)
        #expect(try JSONLine(.sample(.verifying)) == nil)
    }

    @Test func `the summary contains the totals of the run`() {
        var tally = Tally(total: 4)
        (tally.finished, tally.failed, tally.bytes, tally.fetched) = (2, 1, 30, 20)
        tally.duration = .milliseconds(1250)
        #expect(
            "\(JSONLine(tally))"
                == #"{"event":"summary","finished":2,"failed":1,"skipped":0,"bytes":30,"fetched":20,"seconds":1.25,"time":1.25}"#
        )
    }

    @Test(arguments: [
        "", "plain", "\"quoted\"", "back\\slash", "line\nline\r\n", "tab\t", "\u{0}\u{1}\u{1F}", "\u{7F}\u{85}",
        "\u{2028}\u{2029}", "漢字 é e\u{301} 👩‍👩‍👧", "\u{FFFD}", "</script>", "\u{1B}[2J",
    ])
    func `every text survives a round trip, on one line without control characters`(text: String) throws {
        var line = JSONLine()
        line.add("text", text)
        let written = "\(line)"
        let object = try JSONSerialization.jsonObject(with: Data(written.utf8)) as? [String: String]
        #expect(Array((object?["text"] ?? "missing").unicodeScalars) == Array(text.unicodeScalars))
        #expect(!written.unicodeScalars.contains { $0.properties.generalCategory == .control })
    }

    @Test(arguments: [Int64.min, -1, 0, .max])
    func `every integer survives a round trip`(value: Int64) throws {
        var line = JSONLine()
        line.add("value", value)
        let object = try JSONSerialization.jsonObject(with: Data("\(line)".utf8)) as? [String: NSNumber]
        #expect(object?["value"]?.int64Value == value)
    }

    @Test(arguments: [Duration.zero, .nanoseconds(1), .microseconds(1), .seconds(86_400 * 365), .seconds(1e17)])
    func `every duration is valid JSON`(value: Duration) throws {
        var line = JSONLine()
        line.add("value", value)
        _ = try JSONSerialization.jsonObject(with: Data("\(line)".utf8))
    }
}
