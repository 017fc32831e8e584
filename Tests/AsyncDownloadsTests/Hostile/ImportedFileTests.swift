internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of what happens to the file that a resume token names.
@Suite(.endsWhenHung)
struct ImportedFileTests {
    private static let content = Content(seed: 47, length: 300_000)

    private func token(
        _ environment: TestEnvironment, _ name: String, count: Int64, checksum: Checksum? = nil
    ) throws -> ResumeToken {
        let received = environment.directory.appending(path: "received")
        try FileManager.default.createDirectory(at: received, withIntermediateDirectories: true)
        try Data(Self.content.bytes(in: 0..<count)).write(to: received.appending(path: name))
        return try ResumeToken(
            url: environment.server.url("/one"), validator: "\"a\"", totalByteCount: Self.content.length,
            receivedRanges: [0..<count], checksum: checksum, destinationName: "file.bin", partialName: name)
    }

    private static let ownName = ".file.bin.0123456789abcdef-0123456789abcdef-0123456789abcdef.partial"

    @Test(arguments: ["thesis.odt", ".file.partial", ".file.bin.0123-0123.partial", ownName], [100_000, 300_000])
    func `boundary 6: only a file of the package is removed, and only after a server has confirmed it`(
        _ name: String, _ count: Int64
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/one")
            let token = try token(environment, name, count: count)
            let received = environment.directory.appending(path: "received")
            let download = try await environment.downloader.adopt(
                token, to: environment.directory.appending(path: "file.bin"), partialFileIn: received)
            #expect(try await download.file.byteCount == Self.content.length)
            #expect(try environment.holds(Self.content))
            #expect(environment.server.requests().map(offset(of:)) == [min(count, Self.content.length - 1)])
            let left = try FileManager.default.contentsOfDirectory(atPath: received.path)
            #expect(left == (name == Self.ownName ? [] : [name]))
        }
    }

    @Test(arguments: [[.status(404)], [.closeBeforeHead()], [.status(200)]] as [Step], [100_000, 300_000])
    func `boundary 6: without a confirmation, the file is kept and nothing is placed`(
        _ step: Step, _ count: Int64
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            // The third response contains another object.
            let other = Content(seed: 48, length: 300_000)
            let isOther = step == [.status(200)]
            var resource = Resource(isOther ? other : Self.content, entityTag: isOther ? "\"b\"" : "\"a\"")
            resource.script = isOther ? [] : [step]
            resource.repeatsLastStep = true
            environment.server.serve(resource, at: "/one")
            let token = try token(environment, Self.ownName, count: count)
            let received = environment.directory.appending(path: "received")
            var request = token.request(into: environment.directory)
            request.retryPolicy = .never
            let log = await EventLog(
                of: try await environment.downloader.adopt(token, as: request, partialFileIn: received))
            #expect(try FileManager.default.contentsOfDirectory(atPath: received.path) == [Self.ownName])
            if isOther {
                #expect(log.restarts == [.contentChanged])
                #expect(try environment.holds(other))
            } else {
                #expect(log.error != nil)
                #expect(log.error?.retainedByteCount == min(count, Self.content.length - 1))
                #expect(try !environment.leftovers.contains("file.bin"))
            }
        }
    }

    @Test func `boundary 6: a checksum proves a whole file without a server`() async throws {
        try await TestEnvironment.with { environment async throws in
            let token = try token(environment, "bytes", count: Self.content.length, checksum: Self.content.sha256)
            let received = environment.directory.appending(path: "received")
            let download = try await environment.downloader.adopt(
                token, as: token.request(into: environment.directory), partialFileIn: received)
            #expect(try await download.file.fetchedByteCount == 0)
            #expect(try environment.holds(Self.content))
            #expect(environment.server.requests().isEmpty)
            #expect(try FileManager.default.contentsOfDirectory(atPath: received.path) == ["bytes"])
        }
    }
}
