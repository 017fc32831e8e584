internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of reading resume data from a file, and of finding the file with the bytes.
@Suite("ResumeData: files", .endsWhenHung)
struct ResumeDataFileTests {
    private typealias Key = ResumeDataFields.Key

    private static let name = "CFNetworkDownload_a1B2c3.tmp"

    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private var place: URL { URL(fileURLWithPath: directory.path, isDirectory: true) }
    private var path: String { "\(directory.path)/\(Self.name)" }

    @Test func `resume data is read from a file, through a link, and without write permission`() throws {
        let path = "\(directory.path)/saved"
        try directory.put(AppleSample.data, at: path)
        try directory.link("\(directory.path)/link", to: path)
        try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: path)
        for name in ["saved", "link"] {
            #expect(try ResumeData(contentsOf: place.appending(path: name)) == ResumeData(AppleSample.data))
        }
    }

    @Test(arguments: ["nothing", "directory", "pipe", "long"])
    func `resume data that is not in a regular file of valid size is refused without waiting`(_ kind: String) throws {
        let file = place.appending(path: kind)
        switch kind {
        case "directory": try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        case "pipe": #expect(mkfifo(file.path, 0o600) == 0)
        case "long": try directory.put(AppleSample.data + Data(repeating: 0x20, count: 1 << 20), at: file.path)
        default: break
        }
        let error = #expect(throws: DownloadError.self) { try ResumeData(contentsOf: file) }
        #expect(error?.code == .resumeDataUnusable)
        #expect(error.map { !"\($0)".contains(directory.path) } == true)
    }

    @Test func `a URL that is not a file URL is refused`() {
        let error = #expect(throws: DownloadError.self) { try ResumeData(contentsOf: .sample("https://a.example/x")) }
        #expect(error?.code == .resumeDataUnusable)
    }

    @Test(arguments: [0, 1, 1_000])
    func `a temporary file with exactly the received bytes is found`(_ count: Int) throws {
        try directory.put([UInt8](repeating: 7, count: count), at: path)
        let resumeData = try resumeData(count: count)
        #expect(try resumeData.temporaryFile(in: place).path == path)
        let file = try resumeData.openTemporaryFile(in: place)
        defer { POSIXFileSystem().close(file.handle) }
        #expect(file.path == path && file.information.size == Int64(count))
        #expect(try POSIXFileSystem().information(at: path)?.isSameFile(as: file.information) == true)
    }

    /// Something else in place of the temporary file.
    struct Stranger: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reason: String
        let make: @Sendable (_ directory: TemporaryDirectory, _ path: String) throws -> Void
    }

    static let strangers: [Stranger] = [
        Stranger(testDescription: "nothing", reason: "missing") { _, _ in },
        Stranger(testDescription: "a shorter file", reason: "999 bytes instead of 1000") {
            try $0.put([UInt8](repeating: 7, count: 999), at: $1)
        },
        Stranger(testDescription: "a longer file", reason: "1001 bytes instead of 1000") {
            try $0.put([UInt8](repeating: 7, count: 1001), at: $1)
        },
        Stranger(testDescription: "a link to the right file", reason: "regular file") {
            try $0.put([UInt8](repeating: 7, count: 1_000), at: $1 + ".moved")
            try $0.link($1, to: $1 + ".moved")
        },
        Stranger(testDescription: "a link to nothing", reason: "regular file") { try $0.link($1, to: $1 + ".moved") },
        Stranger(testDescription: "a directory", reason: "regular file") { _, path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        },
        Stranger(testDescription: "a pipe", reason: "regular file") { _, path in #expect(mkfifo(path, 0o600) == 0) },
        Stranger(testDescription: "a file with a second name", reason: "other hard links") {
            try $0.put([UInt8](repeating: 7, count: 1_000), at: $1)
            try FileManager.default.linkItem(atPath: $1, toPath: $1 + ".other")
        },
    ]

    @Test(arguments: strangers)
    func `rules 40 and 41: anything else in place of the temporary file is refused`(_ stranger: Stranger) throws {
        try stranger.make(directory, path)
        let resumeData = try resumeData()
        let error = #expect(throws: DownloadError.self) { try resumeData.temporaryFile(in: place) }
        #expect(error?.code == .resumeDataUnusable)
        #expect(error?.detail.contains(stranger.reason) == true, "\(error?.detail ?? "")")
        #expect(error.map { !"\($0)".contains(directory.path) } == true)
    }

    @Test(arguments: [true, false])
    func `a temporary file of another user is refused`(isOwn: Bool) throws {
        let disk = POSIXFileSystem()
        let information = FileInformation(
            kind: .regular, device: 1, inode: 2, size: 1_000, linkCount: 1, owner: isOwn ? disk.user : disk.user + 1)
        let owner = FileOwner(disk: disk, directory: directory.path)
        let data = try resumeData()
        let reason = try data.reasonAgainst(information, owner)
        #expect(reason?.contains("belongs to another user") == (isOwn ? nil : true))
    }

    @Test func `the path of the first version is used, and another directory takes precedence`() throws {
        let elsewhere = try TemporaryDirectory()
        try elsewhere.put([UInt8](repeating: 7, count: 1_000), at: "\(elsewhere.path)/\(Self.name)")
        let resumeData = try resumeData(recordedPath: "\(elsewhere.path)/\(Self.name)")
        #expect(try resumeData.temporaryFile().path == "\(elsewhere.path)/\(Self.name)")
        // The given directory is the only one that is searched.
        #expect(throws: DownloadError.self) { try resumeData.temporaryFile(in: place) }
        try directory.put([UInt8](repeating: 8, count: 1_000), at: path)
        #expect(try resumeData.temporaryFile(in: place).path == path)
    }

    @Test(arguments: [true, false])
    func `the system's temporary directory is searched after the recorded path`(isRecorded: Bool) throws {
        let name = "CFNetworkDownload_\(UUID().uuidString).tmp"
        let file = FileManager.default.temporaryDirectory.appending(path: name)
        try directory.put([UInt8](repeating: 7, count: 1_000), at: file.path)
        defer { try? FileManager.default.removeItem(at: file) }
        var fields = ResumeDataFields(version: isRecorded ? 1 : 5)
        if isRecorded {
            fields[Key.path] = .string("/nowhere/Containers/0/tmp/\(name)")
        } else {
            fields[Key.name] = .string(name)
        }
        let found = try ResumeData(fields.data(.binaryArchive)).temporaryFile()
        #expect(found.path == file.path)
    }

    private func resumeData(count: Int = 1_000, recordedPath: String? = nil) throws -> ResumeData {
        var fields = ResumeDataFields(version: recordedPath == nil ? 5 : 1)
        fields[Key.count] = .integer(Int64(count))
        if let recordedPath { fields[Key.path] = .string(recordedPath) }
        return try ResumeData(fields.data(.binaryArchive))
    }
}
