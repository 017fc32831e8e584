import AsyncDownloads
import TestSupport
import Testing

@testable import benchmark

/// Tests of the generation of scripts.
@Suite(.endsWhenHung) struct DownloadScriptTests {
    private static func scripts(_ count: Int, seed: UInt64) -> [DownloadScript] {
        (0..<count).map { DownloadScript(number: $0, seed: seed, resourceCount: SoakSite.resourceCount) }
    }

    @Test func `a script is determined by its seed and number`() {
        let first = Self.scripts(100, seed: 7)
        #expect(first == Self.scripts(100, seed: 7))
        #expect(first != Self.scripts(100, seed: 8))
        #expect(Set(first).count == 100)
    }

    @Test func `a few hundred scripts cover all steps, endings, policies, and deadlines`() {
        let scripts = Self.scripts(500, seed: 1)
        #expect(Set(scripts.flatMap(\.steps)) == Set(DownloadScript.Step.allCases))
        #expect(Set(scripts.map(\.lastStep)) == Set(DownloadScript.LastStep.allCases))
        #expect(Set(scripts.map(\.duplicatePolicy)) == [.coalesce, .cancelExisting, .reject])
        #expect(Set(scripts.map(\.deadline)) == [nil, .seconds(3600), .milliseconds(5)])
        #expect(Set(scripts.map { [$0.listens, $0.awaits] }).count == 4)
        #expect(Set(scripts.map(\.slot)).contains(nil))
    }

    @Test func `a download may end as canceled or as a duplicate only if its script permits it`() {
        for script in Self.scripts(500, seed: 2) {
            #expect(script.mayEnd(with: .cancelled) == (script.lastStep != .stay))
            #expect(script.mayEnd(with: .duplicate) == (script.duplicatePolicy == .reject))
            #expect(script.mayEnd(with: .deadlineExceeded) == (script.deadline != nil))
            #expect(!script.mayEnd(with: .storageFailure))
            #expect(!script.mayEnd(with: .connectionLost))
        }
    }
}
