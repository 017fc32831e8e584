internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Bodies in memory that were received with other credentials.
extension CredentialsChangedTests {
    @Test(arguments: [nil, "7"])
    func `boundary 5: a body in memory belongs to its user and is never written to disk without an account`(
        _ account: String?
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            var configuration = environment.downloader.configuration
            configuration.partialBodies = PartialBodyStore(byteLimit: 0)
            configuration.partialsDirectory = environment.directory
            configuration.retryPolicy = .never
            let downloader = Downloader(configuration: configuration)
            let script: [Step] = [[.cut(after: Self.cut)]]
            environment.server.serve(Resource(Self.content, entityTag: "\"revision\"", script: script), at: "/one")
            var request = DownloadRequest(from: environment.server.url("/one"), to: .memory)
            request.headers = Self.mine
            request.account = account
            #expect(await EventLog(of: downloader.start(request)).error?.code == .connectionLost)
            #expect(try environment.leftovers.contains { $0.hasSuffix(".partial") } == (account != nil))
            await downloader.shutdown()
        }
    }

    @Test func `boundary 5: an unfinished body in memory is not resumed with other credentials`() async throws {
        try await TestEnvironment.with { environment async throws in
            let script: [Step] = [[.cut(after: Self.cut)]]
            environment.server.serve(Resource(Self.content, entityTag: "\"revision\"", script: script), at: "/one")
            var request = DownloadRequest(from: environment.server.url("/one"), to: .memory)
            request.retryPolicy = .never
            request.headers = ["Authorization": "Bearer another"]
            #expect(await EventLog(of: environment.downloader.start(request)).error?.retainedByteCount == Self.cut)
            environment.server.serve(Resource(Self.other, entityTag: "\"revision\""), at: "/one")
            request.headers = Self.mine
            let data = try await environment.downloader.data(for: request)
            #expect(data == Data(Self.other.bytes(in: 0..<Self.other.length)))
        }
    }
}
