internal import AsyncDownloads
internal import Foundation
internal import TestSupport
internal import Testing

@testable import batch

@Suite(.endsWhenHung) struct MirrorPlanTests {
    private static let policy = RetryPolicy(maximumRetries: 5)
    private static let lost = DownloadError(.connectionLost)
    private static let missing = DownloadError(.httpStatus, statusCode: 404)

    /// Returns the hosts that are tried, with the numbers of retries, if each attempt fails with the error of its host.
    private func hosts(_ errors: [String: DownloadError]) throws -> [String] {
        var item = Item(address: try Address("http://a/x"))
        item.mirrors = [try Address("http://b/x"), try Address("http://c/x")]
        var plan = MirrorPlan(item)
        var hosts: [String] = []
        while true {
            let host = plan.address.url.host() ?? ""
            hosts.append("\(host)\(plan.retryPolicy(Self.policy)?.maximumRetries ?? 5)")
            guard plan.advance(after: errors[host] ?? Self.lost) else { return hosts }
        }
    }

    @Test func `addresses that failed for a passing reason are tried again with all retries`() throws {
        #expect(try hosts([:]) == ["a1", "b1", "c5", "a5", "b5"])
        #expect(try hosts(["a": Self.missing]) == ["a1", "b1", "c5", "b5"])
        #expect(try hosts(["a": Self.missing, "b": Self.missing, "c": Self.missing]) == ["a1", "b1", "c5"])
        #expect(try hosts(["c": Self.missing]) == ["a1", "b1", "c5", "a5", "b5"])
    }

    @Test(arguments: [
        DownloadError.Code.unexpectedHTML, .unexpectedByteCount, .unacceptableMediaType, .responseRefused,
        .redirectRefused, .checksumMismatch,
    ])
    func `a server that sends another object is not asked again`(code: DownloadError.Code) throws {
        #expect(try hosts(["a": DownloadError(code)]) == ["a1", "b1", "c5", "b5"])
    }

    @Test func `an error of this machine isn't one of a server`() throws {
        #expect(try hosts(["a": DownloadError(.diskFull)]) == ["a1"])
        #expect(try hosts(["b": DownloadError(.permissionDenied)]) == ["a1", "b1"])
    }

    @Test func `an item without mirrors has one attempt with the policy of the run`() throws {
        var plan = MirrorPlan(Item(address: try Address("http://a/x")))
        #expect(plan.retryPolicy(Self.policy) == nil)
        let advances = plan.advance(after: Self.lost)
        #expect(!advances)
    }
}
