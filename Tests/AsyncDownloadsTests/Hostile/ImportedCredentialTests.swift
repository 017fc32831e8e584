internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of tokens whose bytes were received with other credentials than the importing request has.
@Suite(.endsWhenHung)
struct ImportedCredentialTests {
    private static let content = Content(seed: 41, length: 400_000)
    private static let other = Content(seed: 42, length: 400_000)
    private static let count: Int64 = 200_000
    private static let probe: Int64 = 64 << 10

    @Test(arguments: [[:], ["Authorization": "Bearer mine"]] as [AsyncDownloads.HeaderFields], [true, false])
    func `boundary 5: a token's bytes of other credentials are resumed if they are proven`(
        _ headers: AsyncDownloads.HeaderFields, _ isEqual: Bool
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            let object = isEqual ? Self.content : Self.other
            environment.server.serve(Resource(object, entityTag: "\"revision\""), at: "/one")
            let token = try token(environment, hasSecretHeaders: true)
            var request = token.request(into: environment.directory)
            request.headers = headers
            let download = try await environment.downloader.adopt(
                token, as: request, partialFileIn: environment.directory)
            let log = await EventLog(of: download)
            #expect(log.restarts == (isEqual ? [] : [.credentialsChanged]))
            if isEqual {
                #expect(log.file?.fetchedByteCount == Self.content.length - Self.count + 2 * Self.probe)
            }
            #expect(try environment.holds(object))
        }
    }

    @Test func `boundary 5: a token says whether its bytes were received with secret headers`() async throws {
        try await TestEnvironment.with { environment async throws in
            for headers in [[:], ["Authorization": "Bearer mine"]] as [AsyncDownloads.HeaderFields] {
                environment.server.serve(
                    Resource(Self.content, entityTag: "\"revision\"", script: [[.cut(after: Self.count)]]), at: "/one")
                var request = environment.request("/one", to: headers.isEmpty ? "plain" : "secret")
                request.headers = headers
                request.retryPolicy = .never
                let download = environment.downloader.start(request)
                #expect(await EventLog(of: download).error?.retainedByteCount == Self.count)
                let made = try #require(try await download.resumeToken)
                let token = try JSONDecoder().decode(ResumeToken.self, from: JSONEncoder().encode(made))
                #expect(token.hasSecretHeaders == !headers.isEmpty)
            }
        }
    }

    @Test(arguments: [("7", "8"), (nil, "8")])
    func `boundary 5: a token of another account is rejected, and its file is kept`(
        _ account: String?, _ present: String
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            let token = try token(environment, hasSecretHeaders: true, account: account)
            var request = token.request(into: environment.directory)
            request.account = present
            let before = try environment.leftovers
            let error = await #expect(throws: DownloadError.self) {
                try await environment.downloader.adopt(token, as: request, partialFileIn: environment.directory)
            }
            #expect(error?.code == .resumeDataUnusable)
            #expect(try environment.leftovers == before)
        }
    }

    @Test(arguments: ["7", nil])
    func `boundary 5: bytes of an account need a proof only if the request has no account`(
        _ present: String?
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(Self.content, entityTag: "\"revision\""), at: "/one")
            let token = try token(environment, account: "7")
            var request = token.request(into: environment.directory)
            request.account = present
            request.headers = ["Authorization": "Bearer mine"]
            let file = try await environment.downloader.adopt(token, as: request, partialFileIn: environment.directory)
                .file
            let proven = present == nil ? 2 * Self.probe : 0
            #expect(file.fetchedByteCount == Self.content.length - Self.count + proven)
        }
    }

    private func token(
        _ environment: TestEnvironment, hasSecretHeaders: Bool = false, account: String? = nil
    ) throws -> ResumeToken {
        try Data(Self.content.bytes(in: 0..<Self.count)).write(to: environment.directory.appending(path: "bytes"))
        return try ResumeToken(
            url: environment.server.url("/one"), validator: "\"revision\"", totalByteCount: Self.content.length,
            receivedRanges: [0..<Self.count], hasSecretHeaders: hasSecretHeaders, destinationName: "file.bin",
            account: account, partialName: "bytes")
    }
}
