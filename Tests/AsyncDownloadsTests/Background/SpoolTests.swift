internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct SpoolTests {
    private static let name = DaemonTaskName(journal: "j", record: 3, attempt: 2)
    private static let head = DaemonResponseHead(status: 200, headers: ["ETag": "\"a\""], url: "https://example.org/")

    private func makeSpool() throws -> (disk: SimulatedFileSystem, spool: Spool) {
        var disk = SimulatedDisk()
        disk.directories.formUnion(["/spool", "/system"])
        let system = SimulatedFileSystem(disk)
        try system.replaceContents(of: "/system/tmp", by: Array("film".utf8), isSynced: true)
        return (system, Spool(disk: system, directory: "/spool"))
    }

    @Test func `background 6: a body that a later process finds has its head, whenever the process was killed`() throws
    {
        let (system, spool) = try makeSpool()
        let body = try spool.receive(Self.name, from: "/system/tmp", Self.head)
        #expect(body.byteCount == 4 && spool.body(Self.name) == body)
        for state in system.history {
            let next = Spool(disk: SimulatedFileSystem(state), directory: "/spool")
            let hasBody = (try? next.disk.information(at: "/spool/3-2.body")) != .some(nil)
            #expect(!hasBody || next.body(Self.name)?.head == Self.head)
        }
    }

    @Test func `background 6: a head that is damaged makes the body useless`() throws {
        let (system, spool) = try makeSpool()
        _ = try spool.receive(Self.name, from: "/system/tmp", Self.head)
        try system.replaceContents(of: "/spool/3-2.head", by: Array("{}".utf8), isSynced: false)
        #expect(spool.body(Self.name) == nil)
    }

    @Test func `files of attempts whose events may be on the way are not removed`() throws {
        let (system, spool) = try makeSpool()
        let names = [
            "1-1.body", "1-1.head", "2-1.resume", "3-2.body", "3-2.failure", "4-1.resume.new", "note", "5-x.body",
        ]
        for name in names { try system.replaceContents(of: "/spool/\(name)", by: [1], isSynced: false) }
        spool.removeUnused(except: ["1-1.body"], of: [Self.name])
        #expect(
            try system.names(in: "/spool").sorted() == [
                "1-1.body", "1-1.head", "3-2.body", "3-2.failure", "5-x.body", "note",
            ])
    }

    @Test func `the head of a body is removed with it`() throws {
        let (system, spool) = try makeSpool()
        _ = try spool.receive(Self.name, from: "/system/tmp", Self.head)
        spool.remove(["3-2.body"])
        #expect(try system.names(in: "/spool") == [])
    }
}
