internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of errors that a file system reports only when a file is closed (rule 45).
@Suite(.endsWhenHung)
struct ClosingTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test(arguments: [FileFailure.Kind.noSpace, .other])
    func `rule 45: a file whose bytes were refused late is not placed, and its bytes are kept`(
        _ kind: FileFailure.Kind
    ) throws {
        try directory.put("old".utf8, at: directory.destination)
        let partial = try whole(PretendingFileSystem(locks: .pretended, closing: kind), .processCrash)
        try partial.save(IntervalSet(0..<1000))
        let error = #expect(throws: DownloadError.self) {
            try partial.place(at: [directory.destination], length: 1000)[0].get()
        }
        #expect(error?.code == (kind == .noSpace ? .diskFull : .storageFailure))
        #expect(directory.bytes(at: directory.destination) == Array("old".utf8))
        partial.close()
        let again = try store(PretendingFileSystem(locks: .pretended), .processCrash).open(directory.location)
        #expect(again.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<1000)))
    }

    @Test func `rule 45: synced bytes are not checked again`() throws {
        let partial = try whole(PretendingFileSystem(locks: .pretended, closing: .other), .powerLoss)
        try partial.place(at: [directory.destination], length: 1000)[0].get()
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
    }

    @Test func `a check of earlier writes keeps a real file open`() throws {
        let files = POSIXFileSystem()
        let file = try files.open("\(directory.path)/file", .new)
        defer { files.close(file) }
        try files.checkWrites(to: file)
        #expect(try files.information(of: file).kind == .regular)
        let closed = OpenFile(number: -1, name: "closed")
        #expect(throws: FileFailure.self) { try files.checkWrites(to: closed) }
    }

    private func store(_ disk: any FileSystem, _ durability: Durability) -> PartialStore {
        PartialStore(disk: disk, durability: durability, bootID: "boot")
    }

    private func whole(_ disk: any FileSystem, _ durability: Durability) throws -> PartialFile {
        let partial = try store(disk, durability).open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<1000)
        return partial
    }
}
