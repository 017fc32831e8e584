internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of bytes that were received with other credentials than the current request has.
@Suite(.endsWhenHung)
struct CredentialsChangedTests {
    static let content = Content(seed: 35, length: 400_000)
    static let other = Content(seed: 36, length: 400_000)
    static let cut: Int64 = 200_000
    private static let probe: Int64 = 64 << 10

    static let mine: AsyncDownloads.HeaderFields = ["Authorization": "Bearer mine"]

    /// A change of credentials between the bytes on disk and a new request, and the number of bytes to fetch.
    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var before: AsyncDownloads.HeaderFields = ["Authorization": "Bearer another"]
        var accountBefore: String?
        var headers = CredentialsChangedTests.mine
        var account: String?
        var hasChecksum = false
        var hasDigest = false
        /// The number of bytes that are fetched.
        var fetched = CredentialsChangedTests.content.length - cut + 2 * probe
    }

    private static let rest = content.length - cut

    static let changes: [Change] = [
        Change(testDescription: "another value"),
        Change(testDescription: "credentials instead of none", before: [:]),
        Change(testDescription: "none instead of credentials", headers: [:]),
        Change(testDescription: "none at all", before: [:], headers: [:], fetched: rest),
        Change(
            testDescription: "another value of a custom header", before: ["X-AuthToken": "a"],
            headers: ["X-AuthToken": "b"]),
        Change(testDescription: "a checksum", hasChecksum: true, fetched: rest),
        Change(testDescription: "an equal digest from the server", hasDigest: true, fetched: rest),
        Change(testDescription: "the same account", accountBefore: "7", account: "7", fetched: rest),
        Change(testDescription: "another account", accountBefore: "7", account: "8", fetched: content.length),
    ]

    @Test(arguments: Engine.allCases, changes)
    func `boundary 5: bytes of other credentials are resumed if they are proven`(
        _ engine: Engine, _ change: Change
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            var resource = Resource(Self.content, entityTag: "\"revision\"")
            if change.hasDigest { resource.headers = ["Repr-Digest": Self.content.reprDigest] }
            environment.server.serve(resource, at: "/one")
            try createUnfinished(in: environment, change)
            var request = environment.request("/one")
            request.headers = change.headers
            request.account = change.account
            if change.hasChecksum { request.checksum = Self.content.sha256 }
            let log = await EventLog(of: environment.downloader.start(request))
            #expect(log.error == nil)
            #expect(log.restarts == [])
            #expect(try environment.holds(Self.content))
            if !change.hasDigest { #expect(log.file?.fetchedByteCount == change.fetched) }
            #expect((log.file?.fetchedByteCount ?? 0) >= change.fetched)
        }
    }

    @Test(arguments: Engine.allCases, ["first byte", "last byte", "checksum", "digest"])
    func `boundary 5: bytes of another user are discarded`(_ engine: Engine, _ kind: String) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            // The entity tag identifies a revision, so the objects of both users have the same tag.
            var resource = Resource(Self.other, entityTag: "\"revision\"")
            if kind == "digest" { resource.headers = ["Repr-Digest": Self.other.reprDigest] }
            environment.server.serve(resource, at: "/one")
            var change = Change(testDescription: "")
            change.hasDigest = kind == "digest"
            try createUnfinished(in: environment, change) { bytes in
                // All bytes except one are equal.
                if kind == "first byte" || kind == "last byte" {
                    bytes = Array(Self.other.bytes(in: 0..<Self.cut))
                    bytes[kind == "first byte" ? 0 : bytes.count - 1] ^= 1
                }
            }
            var request = environment.request("/one")
            request.headers = Self.mine
            if kind == "checksum" { request.checksum = Self.other.sha256 }
            let log = await EventLog(of: environment.downloader.start(request))
            #expect(log.error == nil)
            #expect(log.restarts == [.credentialsChanged])
            #expect(try environment.holds(Self.other))
            #expect(try environment.leftovers == ["file.bin"])
        }
    }

    @Test(arguments: [401, 403, 404, 500])
    func `boundary 5: nothing is removed before a proof has failed`(_ status: Int) async throws {
        try await TestEnvironment.with { environment async throws in
            var resource = Resource(Self.content, entityTag: "\"revision\"", script: [[.status(status)]])
            resource.repeatsLastStep = true
            environment.server.serve(resource, at: "/one")
            try createUnfinished(in: environment, Change(testDescription: ""))
            var request = environment.request("/one")
            request.headers = Self.mine
            request.retryPolicy = .never
            let error = await EventLog(of: environment.downloader.start(request)).error
            #expect(error?.code == .httpStatus)
            #expect(error?.retainedByteCount == Self.cut)
            environment.server.serve(Resource(Self.content, entityTag: "\"revision\""), at: "/one")
            let log = await EventLog(of: environment.downloader.start(request))
            #expect(log.restarts == [])
            #expect(log.file?.fetchedByteCount == Self.content.length - Self.cut + 2 * Self.probe)
        }
    }

    @Test func `boundary 5: the same process with the same credentials needs no proof`() async throws {
        try await TestEnvironment.with { environment async throws in
            let script: [Step] = [[.cut(after: Self.cut)]]
            environment.server.serve(Resource(Self.content, entityTag: "\"revision\"", script: script), at: "/one")
            var request = environment.request("/one")
            request.headers = Self.mine
            request.retryPolicy = .never
            #expect(await EventLog(of: environment.downloader.start(request)).error?.retainedByteCount == Self.cut)
            let file = try await environment.downloader.download(request)
            #expect(file.fetchedByteCount == Self.content.length - Self.cut)
        }
    }

    @Test(arguments: [[:], mine], [[.status(503)], [.cut(after: 0)]] as [Step])
    func `boundary 5: an interrupted proof is repeated`(
        _ headers: AsyncDownloads.HeaderFields, _ step: Step
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(Self.other, entityTag: "\"revision\"", script: [step]), at: "/one")
            try createUnfinished(in: environment, Change(testDescription: ""))
            var request = environment.request("/one")
            request.headers = headers
            request.retryPolicy = .never
            #expect(await EventLog(of: environment.downloader.start(request)).error?.retainedByteCount == Self.cut)
            let log = await EventLog(of: environment.downloader.start(request))
            #expect(log.restarts == [.credentialsChanged])
            #expect(try environment.holds(Self.other))
        }
    }

    @Test(arguments: [0, 200_000])
    func `boundary 14: the bytes of a shrunken object are not requested repeatedly`(
        _ length: Int64
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            let small = Content(seed: 37, length: length)
            var resource = Resource(small, entityTag: "\"revision\"")
            resource.honorsIfMatch = false
            environment.server.serve(resource, at: "/one")
            try createUnfinished(in: environment, Change(testDescription: ""))
            var request = environment.request("/one")
            request.headers = Self.mine
            let log = await EventLog(of: environment.downloader.start(request))
            #expect(log.error == nil)
            #expect(environment.server.requests().count < 6)
            #expect(try environment.holds(small))
        }
    }

    @Test func `boundary 14: a comparison does not read an endless body`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"revision\"", script: [[.chunkedWithoutEnd, .extraBytes(5000)]]),
                at: "/one")
            try createUnfinished(in: environment, Change(testDescription: ""))
            var request = environment.request("/one")
            request.headers = Self.mine
            #expect(await EventLog(of: environment.downloader.start(request)).error == nil)
            #expect(try environment.holds(Self.content))
        }
    }

    @Test func `boundary 5: headers of a fresh URL count like those of the request`() async throws {
        try await TestEnvironment.with { environment async throws in
            let script: [Step] = [[.status(401)], [.cut(after: Self.cut)]]
            environment.server.serve(Resource(Self.content, entityTag: "\"revision\"", script: script), at: "/one")
            var request = environment.request("/one")
            request.retryPolicy = .never
            request.refreshURL = URLRefresh { FreshURL($0.url, headers: Self.mine) }
            #expect(await EventLog(of: environment.downloader.start(request)).error?.retainedByteCount == Self.cut)
            // The refresh now supplies the credentials of another user.
            environment.server.serve(
                Resource(Self.other, entityTag: "\"revision\"", script: [[.status(401)]]), at: "/one")
            request.refreshURL = URLRefresh { FreshURL($0.url, headers: ["Authorization": "Bearer another"]) }
            let log = await EventLog(of: environment.downloader.start(request))
            #expect(log.restarts == [.credentialsChanged])
            #expect(try environment.holds(Self.other))
        }
    }

    @Test func `boundary 5: a change of headers during a transfer requires a proof`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"revision\"", script: [[.stall(after: Self.cut)]]), at: "/one")
            var request = environment.request("/one")
            request.headers = ["Authorization": "Bearer another"]
            let download = environment.downloader.start(request)
            try await download.progress(reaching: Self.cut)
            let events = download.events
            environment.server.serve(Resource(Self.other, entityTag: "\"revision\""), at: "/one")
            try download.replaceURL(with: FreshURL(environment.server.url("/one"), headers: Self.mine))
            let log = await EventLog(events)
            #expect(log.restarts == [.credentialsChanged])
            #expect(try environment.holds(Self.other))
        }
    }

    @Test func `boundary 5: bytes that waited for a checksum no longer belong to their first user`() async throws {
        try await TestEnvironment.with { environment async throws in
            let script: [Step] = [[.cut(after: 100_000)], [.cut(after: 100_000)]]
            environment.server.serve(Resource(Self.content, entityTag: "\"revision\"", script: script), at: "/one")
            var first = environment.request("/one")
            first.headers = Self.mine
            first.retryPolicy = .never
            #expect(await EventLog(of: environment.downloader.start(first)).error?.retainedByteCount == 100_000)
            var second = first
            second.headers = ["Authorization": "Bearer another"]
            second.checksum = Self.other.sha256
            #expect(await EventLog(of: environment.downloader.start(second)).error?.retainedByteCount == 200_000)
            let file = try await environment.downloader.download(first)
            #expect(file.fetchedByteCount == Self.content.length - 200_000 + 2 * Self.probe)
        }
    }

    @Test func `boundary 5: a whole file of other credentials is compared before it is used`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(Self.content, entityTag: "\"revision\""), at: "/one")
            try createUnfinished(in: environment, Change(testDescription: ""), count: Self.content.length)
            var request = environment.request("/one")
            request.headers = Self.mine
            let file = try await environment.downloader.download(request)
            #expect(file.fetchedByteCount == 2 * Self.probe)
            #expect(try environment.holds(Self.content))
        }
    }

    @Test func `boundary 5: requests of one account share a transfer, whatever their tokens are`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: Self.cut)]]), at: "/one")
            var (first, second) = (environment.request("/one", to: "a"), environment.request("/one", to: "b"))
            first.headers = Self.mine
            second.headers = ["Authorization": "Bearer rotated"]
            (first.account, second.account) = ("7", "7")
            let one = environment.downloader.start(first)
            try await one.progress(reaching: Self.cut)
            let two = environment.downloader.start(second)
            #expect(two.isCoalesced)
            environment.server.release("/one")
            _ = try await (one.file, two.file)
            second.account = "8"
            second.destination = .file(environment.directory.appending(path: "c"))
            #expect(environment.downloader.start(second).isCoalesced == false)
        }
    }

    /// Creates an unfinished download as another process would.
    private func createUnfinished(
        in environment: TestEnvironment, _ change: Change, count: Int64 = cut,
        _ edit: (inout [UInt8]) -> Void = { _ in }
    ) throws {
        let url = environment.server.url("/one").absoluteString
        let record = RequestRecord(
            url: url, hasSecretHeaders: !change.before.isEmpty, destination: "file.bin", account: change.accountBefore)
        let location = PartialLocation(
            directory: environment.directory.path, baseName: "file.bin", request: record,
            // Random, because this process doesn't know the values of another process.
            secretHeaders: change.before.isEmpty ? [:] : ["Authorization": UUID().uuidString])
        let partial = try PartialStore(durability: .processCrash).open(location)
        let digests = change.hasDigest ? [Self.content.sha256] : nil
        try partial.begin(
            Representation(
                finalURL: url, validator: Validator(rawValue: "\"revision\""), length: Self.content.length,
                digests: digests))
        var bytes = Array(Self.content.bytes(in: 0..<count))
        edit(&bytes)
        try bytes.withUnsafeBytes { try partial.write($0, at: 0) }
        try partial.save(IntervalSet(0..<count))
        partial.close()
    }
}
