import AsyncDownloads
import TestSupport
import Testing

@testable import benchmark

/// Tests of the generation of life cycles.
@Suite(.endsWhenHung) struct LifeTests {
    private static func lives(_ count: Int, seed: UInt64) -> [Life] {
        (0..<count).map { Life(number: $0, seed: seed, resourceCount: SoakSite.resourceCount) }
    }

    @Test func `a life cycle is determined by its seed and number`() {
        let first = Self.lives(100, seed: 7)
        #expect(first == Self.lives(100, seed: 7))
        #expect(first != Self.lives(100, seed: 8))
        #expect(Set(first).count == 100)
    }

    @Test func `a few hundred life cycles cover all acts, endings, policies, and deadlines`() {
        let lives = Self.lives(500, seed: 1)
        #expect(Set(lives.flatMap(\.acts)) == Set(Life.Act.allCases))
        #expect(Set(lives.map(\.farewell)) == Set(Life.Farewell.allCases))
        #expect(Set(lives.map(\.duplicatePolicy)) == [.coalesce, .cancelExisting, .reject])
        #expect(Set(lives.map(\.deadline)) == [nil, .seconds(3600), .milliseconds(5)])
        #expect(Set(lives.map { [$0.listens, $0.awaits] }).count == 4)
        #expect(Set(lives.map(\.slot)).contains(nil))
    }

    @Test func `a download may end as canceled or as a duplicate only if its life cycle permits it`() {
        for life in Self.lives(500, seed: 2) {
            #expect(life.mayEnd(with: .cancelled) == (life.farewell != .stay))
            #expect(life.mayEnd(with: .duplicate) == (life.duplicatePolicy == .reject))
            #expect(life.mayEnd(with: .deadlineExceeded) == (life.deadline != nil))
            #expect(!life.mayEnd(with: .storageFailure))
            #expect(!life.mayEnd(with: .connectionLost))
        }
    }
}
