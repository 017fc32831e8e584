internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct SpoolDeliveryTests {
    private static let content = Array("the contents of the film".utf8)
    private static let digest = "sha-256=\(hexadecimalDigest(content))"

    private static let wrongDigest = "sha-256=\(String(repeating: "0", count: 64))"

    private static func hexadecimalDigest(_ bytes: [UInt8]) -> String {
        guard var digest = try? RunningDigest(.sha256) else { return "" }
        try? digest.advance(to: Int64(bytes.count)) { buffer, offset in
            buffer.copyBytes(from: bytes[Int(offset)...].prefix(buffer.count))
            return min(buffer.count, bytes.count - Int(offset))
        }
        return digest.hex
    }

    /// A complete file in the spool, and the record of its download.
    private struct Stage {
        let disk: SimulatedFileSystem
        var record: BackgroundRecord
        var body: ReceivedBody

        init(wasResumed: Bool = false) throws {
            var simulated = SimulatedDisk()
            simulated.directories.formUnion(["/spool", "/home", "/other"])
            disk = SimulatedFileSystem(simulated)
            try disk.replaceContents(of: "/spool/1-1.body", by: content, isSynced: false)
            let inode = try #require(try disk.information(at: "/spool/1-1.body")).inode
            record = BackgroundRecord(id: 1, resource: BackgroundResource(url: "https://example.org/film.mp4"))
            let info = BackgroundBodyInfo(byteCount: Int64(content.count), finalURL: "https://example.org/film.mp4")
            body = ReceivedBody(fileName: "1-1.body", inode: inode, info: info, wasResumed: wasResumed)
            record.stage = .received(body)
        }

        mutating func add(
            _ text: String, choosesName: Bool = false, checksum: String? = nil, limit: Int64? = nil
        ) throws {
            let path = try #require(ContainerPath(text: text))
            record.deliveries.append(
                .init(
                    id: record.deliveries.count + 1, destination: path, choosesName: choosesName, checksum: checksum,
                    maximumByteCount: limit))
        }

        func delivery(on disk: SimulatedFileSystem? = nil) -> SpoolDelivery {
            SpoolDelivery(
                spool: Spool(disk: disk ?? self.disk, directory: "/spool"), containers: FixedContainers(home: "/home"))
        }

        /// Places the file, and returns the codes of the errors by delivery; nil stands for a placed file.
        func outcomes(mayStartAnew: Bool = false, on disk: SimulatedFileSystem? = nil) -> [Int: String?]? {
            guard case .delivered(let outcomes) = delivery(on: disk).deliver(record, body, mayStartAnew: mayStartAnew)
            else { return nil }
            var result: [Int: String?] = [:]
            for (id, outcome) in outcomes {
                if case .failed(let error) = outcome {
                    result[id] = .some(error.code)
                } else {
                    result[id] = .some(nil)
                }
            }
            return result
        }

        func contents(_ path: String, on disk: SimulatedFileSystem? = nil) -> [UInt8]? {
            try? (disk ?? self.disk).contents(of: path, limit: 1 << 20)
        }
    }

    @Test func `background 14: a file with a wrong digest or too many bytes is not placed`() throws {
        var stage = try Stage()
        try stage.add("home:a", checksum: Self.wrongDigest)
        try stage.add("home:b", limit: 3)
        try stage.add("home:c", checksum: Self.digest)
        let outcomes = try #require(stage.outcomes())
        #expect(outcomes == [1: "checksumMismatch", 2: "bodyTooLarge", 3: nil])
        #expect(stage.contents("/home/a") == nil && stage.contents("/home/b") == nil)
        #expect(stage.contents("/home/c") == Self.content)
        #expect(stage.contents("/spool/1-1.body") == nil, "the file was moved")
    }

    @Test func `background 14: the digest of the server is checked where the caller states none`() throws {
        var stage = try Stage()
        var info = stage.body.info
        info.serverDigest = Self.wrongDigest
        let body = ReceivedBody(fileName: stage.body.fileName, inode: stage.body.inode, info: info)
        try stage.add("home:a")
        try stage.add("home:b", checksum: Self.digest)
        guard case .delivered(let outcomes) = stage.delivery().deliver(stage.record, body) else {
            Issue.record("the file exists")
            return
        }
        #expect(outcomes.map(\.delivery) == [1, 2])
        #expect(stage.contents("/home/a") == nil && stage.contents("/home/b") == Self.content)
    }

    @Test func `background 14: a resumed file with a wrong digest is placed nowhere if it may start anew`() throws {
        var stage = try Stage(wasResumed: true)
        try stage.add("home:a")
        try stage.add("home:b", checksum: Self.wrongDigest)
        #expect(stage.outcomes(mayStartAnew: true) == nil)
        #expect(stage.contents("/home/a") == nil)
        #expect(stage.outcomes() == [1: nil, 2: "checksumMismatch"])
    }

    @Test func `each destination gets the file, also on another volume`() throws {
        var stage = try Stage()
        for path in ["home:a", "root:other/b", "home:deep/er/c"] { try stage.add(path) }
        #expect(stage.outcomes() == [1: nil, 2: nil, 3: nil])
        for path in ["/home/a", "/other/b", "/home/deep/er/c"] { #expect(stage.contents(path) == Self.content) }
        #expect(try stage.disk.names(in: "/other") == ["b"], "no temporary file is left")
    }

    @Test func `background 6: after a loss of power, each destination has its previous file or the whole new one`()
        throws
    {
        var stage = try Stage()
        try stage.disk.replaceContents(of: "/home/a", by: Array("old".utf8), isSynced: true)
        try stage.disk.replaceContents(of: "/other/b", by: Array("old".utf8), isSynced: true)
        try stage.add("home:a")
        try stage.add("root:other/b")
        let start = stage.disk.history.count
        _ = stage.outcomes()
        let old = Array("old".utf8)
        for (index, state) in stage.disk.history.enumerated() where index >= start {
            for crash in state.crashes + state.disorders {
                let next = SimulatedFileSystem(state.after(crash), behavior: .init(remembers: false))
                for path in ["/home/a", "/other/b"] {
                    let found = stage.contents(path, on: next)
                    #expect(found == old || found == Self.content, "\(path) after change \(index), \(crash)")
                }
            }
        }
        // What was reported is durable.
        let last = stage.disk.disk
        for crash in last.crashes + last.disorders {
            let next = SimulatedFileSystem(last.after(crash), behavior: .init(remembers: false))
            #expect(stage.contents("/home/a", on: next) == Self.content, "\(crash)")
            #expect(stage.contents("/other/b", on: next) == Self.content, "\(crash)")
        }
    }

    @Test(arguments: [true, false])
    func `background 6: a file with a reused inode number is not taken for the one that was moved`(
        isSame: Bool
    ) throws {
        var stage = try Stage()
        try stage.add("home:film.mp4")
        try stage.disk.rename("/spool/1-1.body", to: "/home/film.mp4")
        let time = try #require(try stage.disk.information(at: "/home/film.mp4")).modificationTime
        stage.body.modificationTime = isSame ? time : time + 1
        #expect((stage.outcomes() == nil) == !isSame)
    }

    @Test func `background 6: a later process recognizes a file that is in place already`() throws {
        var stage = try Stage()
        try stage.add("home:a")
        try stage.add("home:b")
        // The process has moved the file to the last destination, and was killed.
        #expect(stage.outcomes() == [1: nil, 2: nil])
        try stage.disk.remove("/home/a")
        #expect(stage.outcomes() == [1: nil, 2: nil])
        #expect(stage.contents("/home/a") == Self.content && stage.contents("/home/b") == Self.content)
    }

    @Test func `another file at the destination is not taken for the lost one`() throws {
        var stage = try Stage()
        try stage.add("home:a")
        // This file has the same length, but only the moved file has the inode.
        try stage.disk.replaceContents(of: "/home/a", by: Self.content.reversed(), isSynced: true)
        try stage.disk.rename("/spool/1-1.body", to: "/spool/kept")
        guard case .missing = stage.delivery().deliver(stage.record, stage.body) else {
            Issue.record("the file does not exist")
            return
        }
        // The body in the spool isn't the recorded one.
        try stage.disk.replaceContents(of: "/spool/1-1.body", by: Self.content, isSynced: true)
        guard case .missing = stage.delivery().deliver(stage.record, stage.body) else {
            Issue.record("the inode differs")
            return
        }
    }

    @Test(arguments: [true, false])
    func `a name that a server suggests is taken by the same file only`(isSame: Bool) throws {
        var stage = try Stage()
        var info = stage.body.info
        info.suggestedName = "film.mp4"
        let body = ReceivedBody(fileName: stage.body.fileName, inode: stage.body.inode, info: info)
        try stage.add("home:", choosesName: true)
        try stage.add("home:other")
        stage.record.deliveries[0].chosenPath = ContainerPath(text: "home:film.mp4")
        // The file appears after the name was chosen: by this download, or by another program.
        let existing = isSame ? Self.content : Self.content.reversed()
        try stage.disk.replaceContents(of: "/home/film.mp4", by: existing, isSynced: true)
        guard case .delivered(let outcomes) = stage.delivery().deliver(stage.record, body) else {
            Issue.record("the file exists")
            return
        }
        var isPlaced = false
        if case .placed = outcomes[0].outcome { isPlaced = true }
        #expect(isPlaced == isSame)
        #expect(stage.contents("/home/film.mp4") == existing)
    }

    @Test func `names that are taken, or that another download has chosen, get a number`() throws {
        var stage = try Stage()
        var info = stage.body.info
        info.suggestedName = "film.mp4"
        let body = ReceivedBody(fileName: stage.body.fileName, inode: stage.body.inode, info: info)
        try stage.add("home:", choosesName: true)
        try stage.add("home:", choosesName: true)
        try stage.disk.replaceContents(of: "/home/film.mp4", by: [1], isSynced: true)
        let chosen = stage.delivery().chooseNames(stage.record, body) { $0.relative == "film-2.mp4" }
        #expect(chosen.map(\.path.relative) == ["film-3.mp4", "film-4.mp4"])
        // A name from the caller's URL may replace a file.
        let fromURL = stage.delivery().chooseNames(stage.record, stage.body) { _ in false }
        #expect(fromURL.map(\.path.relative).first == "film.mp4")
        // The caller's default name counts like one from the URL.
        stage.record.deliveries[0].defaultFileName = "other.mp4"
        let byCaller = stage.delivery().chooseNames(stage.record, stage.body) { _ in false }
        #expect(byCaller.map(\.path.relative).first == "other.mp4")
        let recorded = try JSONDecoder().decode(BackgroundRecord.self, from: JSONEncoder().encode(stage.record))
        #expect(recorded.deliveries.map(\.defaultFileName) == ["other.mp4", nil])
    }
}
