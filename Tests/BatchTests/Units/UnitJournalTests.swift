internal import AsyncDownloads
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import batch

/// Tests of the journals of units that have no report yet.
@Suite(.endsWhenHung) struct UnitJournalTests {
    /// Writes a journal of three results and an archive, which is complete after the first two.
    private func journal(_ path: String, isPacked: Bool) throws {
        var journal = try UnitJournal(path, manifest: "abc", availableLength: isPacked ? 0 : nil)
        for id in 0..<3 {
            let event = try RunEvent.sample(.finished(.sample))
            let result = try #require(UnitResult(event, id: id, path: "file-\(id)"))
            journal.add(result, try #require(JSONLine(result: event, id: id, path: "file-\(id)", sha256: nil)))
            if id == 1 { try journal.commit(archiveLength: isPacked ? 2048 : nil) }
        }
        journal.countAttempt()
        try journal.commit(archiveLength: isPacked ? 4096 : nil)
        journal.close()
    }

    @Test(arguments: [false, true])
    func `a journal that is cut at any byte contains the first results, as far as the archive has their files`(
        isPacked: Bool
    ) async throws {
        try await Folder.with { folder in
            let path = folder.url("journal").path
            try journal(path, isPacked: isPacked)
            let bytes = try folder.bytes("journal")
            var counts: Set<Int> = []
            for length in 0...bytes.count where length % 7 == 0 || bytes[max(0, length - 2)..<length].contains(10) {
                try Data(bytes[..<length]).write(to: folder.url("journal"))
                let cut = try UnitJournal(path, manifest: "abc", availableLength: isPacked ? 4096 : nil)
                let count = cut.results.count
                counts.insert(count)
                #expect(cut.results.keys.sorted() == Array(0..<count))
                #expect(cut.results.values.allSatisfy { $0.path == "file-\($0.id)" })
                for id in 0..<count { #expect(try cut.line(of: id).contains("\"id\":\(id),")) }
                if isPacked { #expect(cut.archiveLength == [0, 0, 2048, 4096][count]) }
                #expect(cut.attemptCount == 0 || count == 3)
                cut.close()
            }
            #expect(counts == (isPacked ? [0, 2, 3] : [0, 1, 2, 3]))
        }
    }

    @Test func `a journal whose archive was lost begins anew`() async throws {
        try await Folder.with { folder in
            let path = folder.url("journal").path
            try journal(path, isPacked: true)
            let anew = try UnitJournal(path, manifest: "abc", availableLength: 4095)
            #expect(anew.results.isEmpty && anew.archiveLength == 0 && anew.attemptCount == 0)
            anew.close()
        }
    }

    @Test func `the journal of another manifest is an error`() async throws {
        try await Folder.with { folder in
            let path = folder.url("journal").path
            try journal(path, isPacked: false)
            #expect(throws: Misuse.self) { try UnitJournal(path, manifest: "other", availableLength: nil) }
            let same = try UnitJournal(path, manifest: "abc", availableLength: nil)
            #expect(same.results.count == 3 && same.attemptCount == 1)
            same.close()
        }
    }
}
