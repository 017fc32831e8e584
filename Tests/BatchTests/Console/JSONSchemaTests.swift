internal import AsyncDownloads
internal import Foundation
internal import TestSupport
internal import Testing

@testable import batch

/// Tests that the schema beside the tool describes its events, and nothing else.
@Suite(.endsWhenHung) struct JSONSchemaTests {
    @Test func `the schema accepts each event`() throws {
        let schema = try JSONSchema.ofEvents()
        var reused = DownloadedFile.sample
        reused.isReused = true
        var lines = try (LineSecrecyTests.events + [.finished(reused)]).compactMap { try JSONLine(.sample($0)) }
        lines += try [JSONLine(.sample(.waiting(reason: .coolDown(until: .now)))) ?? JSONLine()]
        lines += [
            JSONLine(try .sample(failure: .notFound)) ?? JSONLine(), JSONLine(Tally(total: 1)),
            JSONLine(RemovedLeftovers(fileCount: 1, byteCount: 2)),
        ]
        #expect(lines.count == 12)
        for line in lines {
            let value = try JSONSerialization.jsonObject(with: Data("\(line)".utf8))
            #expect(try schema.accepts(value), "\(line)")
        }
    }

    @Test(arguments: [
        #"{"event":"paused","id":0,"received":1}"#, #"{"event":"paused","id":0,"received":-1,"time":1}"#,
        #"{"event":"paused","id":true,"received":1,"time":1}"#, #"{"event":"paused","id":0.5,"received":1,"time":1}"#,
        #"{"event":"paused","id":0,"received":1,"time":1,"more":1}"#, #"{"event":"waiting","id":0,"time":1}"#,
        #"{"event":"skipped","id":0,"reason":"none","time":1}"#, "[]",
    ])
    func `the schema rejects everything else`(text: String) throws {
        let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
        #expect(try !JSONSchema.ofEvents().accepts(value))
    }
}
