import TestSupport
import Testing

@testable import benchmark

/// Tests of the check of the files that a session has left.
@Suite(.endsWhenHung) struct FileCheckTests {
    @Test(arguments: [
        (names: [], findings: 0),
        (names: ["7-1-2", "8-3"], findings: 0),
        (names: [".7.f.checkpoint", ".7.f-a-b.partial", ".7.f.lock"], findings: 0),
        (names: [".7.f.checkpoint"], findings: 1),
        (names: [".7.f-a-b.partial"], findings: 1),
        (names: [".7.f.lock"], findings: 1),
        (names: [".7.f-a-b.temp"], findings: 1),
        (names: [".7.f-a-b.copy"], findings: 1),
        (names: [".7.f.checkpoint", ".7.f-a-b.partial", ".8.f-a-b.partial", ".whatever"], findings: 2),
    ])
    func `hidden files that do not belong to an unfinished download are found`(_ row: (names: [String], findings: Int))
    {
        #expect(FileCheck.findings(row.names).count == row.findings)
    }
}
