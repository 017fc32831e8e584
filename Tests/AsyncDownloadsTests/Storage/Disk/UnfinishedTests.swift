internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of the list of unfinished downloads of earlier processes.
@Suite("Unfinished downloads", .endsWhenHung)
struct UnfinishedTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test func `unfinished downloads are listed with their requests and received bytes`() throws {
        var location = directory.location
        for name in ["b.zip", "a.zip"] {
            location.baseName = name
            location.request.url = "https://example.com/\(name)"
            try leave(location, 0..<300)
        }
        let found = try PartialStore().unfinished(in: directory.path, trustsDestinations: false)
        #expect(found.map(\.location.baseName) == ["a.zip", "b.zip"])
        #expect(found.map(\.location.request.url) == ["https://example.com/a.zip", "https://example.com/b.zip"])
        for unfinished in found {
            #expect(unfinished.received == IntervalSet(0..<300))
            #expect(unfinished.representation == SampleObject.first.representation)
            let partial = try PartialStore().open(unfinished.location)
            #expect(partial.finding == .bytes(unfinished.representation, unfinished.received))
            partial.close()
        }
    }

    @Test func `unfinished downloads are found after their directory was moved`() throws {
        try leave(directory.location, 0..<300)
        let other = try TemporaryDirectory()
        try FileManager.default.moveItem(atPath: directory.path, toPath: "\(other.path)/moved")
        let found = try PartialStore().unfinished(in: "\(other.path)/moved", trustsDestinations: false)
        let partial = try PartialStore().open(try #require(found.first).location)
        #expect(partial.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<300)))
    }

    @Test func `unfinished downloads are listed while another process continues them`() throws {
        let partial = try PartialStore().open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<300)
        try partial.save(IntervalSet(0..<300))
        #expect(try PartialStore().unfinished(in: directory.path, trustsDestinations: false).count == 1)
        partial.close()
    }

    @Test func `unreadable checkpoints are omitted`() throws {
        try leave(directory.location, 0..<300)
        try directory.put("{}".utf8, at: "\(directory.path)/.other.checkpoint")
        try directory.put([], at: "\(directory.path)/.empty.checkpoint")
        try directory.link("\(directory.path)/.link.checkpoint", to: directory.names.checkpoint)
        try FileManager.default.copyItem(
            atPath: directory.names.checkpoint, toPath: "\(directory.path)/.renamed.checkpoint")
        #expect(try PartialStore().unfinished(in: directory.path, trustsDestinations: false).count == 1)
    }

    @Test func `an absolute destination is never accepted in a subdirectory`() throws {
        let subdirectory = "\(directory.path)/sub"
        for (name, destination) in [("a.zip", "a.zip"), ("b.zip", "\(directory.path)/b.zip")] {
            for path in [directory.path, subdirectory] {
                var location = PartialLocation.sample(in: path)
                location.baseName = name
                location.request.destination = destination
                try leave(location, 0..<300)
            }
        }
        let found = try PartialStore().unfinished(
            in: directory.path, includingSubdirectories: true, trustsDestinations: true)
        #expect(found.map(\.location.baseName) == ["a.zip", "b.zip", "a.zip"])
        #expect(found.map(\.location.directory) == [directory.path, directory.path, subdirectory])
    }

    @Test func `downloads without their bytes are omitted, and a missing directory has none`() throws {
        try leave(directory.location, 0..<300)
        try FileManager.default.removeItem(atPath: directory.partialPath)
        #expect(try PartialStore().unfinished(in: directory.path, trustsDestinations: false).isEmpty)
        #expect(try PartialStore().unfinished(in: "\(directory.path)/missing", trustsDestinations: false).isEmpty)
    }

    private func leave(_ location: PartialLocation, _ range: Range<Int64>) throws {
        let partial = try PartialStore().open(location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, range)
        try partial.save(IntervalSet(range))
        partial.close()
    }
}
