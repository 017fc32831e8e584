internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct JournalMergingTests {
    private let base = BackgroundJournal.sample([.running, .running, .idle(resumeData: nil)])

    @Test func `what only one process has changed has its value`() throws {
        var (mine, theirs) = (base, base)
        mine.update(1) { $0.isPaused = true }
        theirs.update(2) { $0.isPaused = true }
        theirs.remove(3)
        let added = theirs.add(BackgroundResource(url: "https://example.org/4"))
        let merged = try #require(mine.merged(with: theirs, since: base))
        #expect(merged.records.map(\.id) == [1, 2, added])
        #expect(merged[1]?.isPaused == true && merged[2]?.isPaused == true)
        #expect(merged.lastNumber == added && merged.revision.number > mine.revision.number)
    }

    @Test func `a record that one process has changed is not removed by the other`() throws {
        var (mine, theirs) = (base, base)
        mine.update(1) { $0.isPaused = true }
        theirs.remove(1)
        mine.remove(2)
        theirs.update(2) { $0.isPaused = true }
        mine.remove(3)
        let merged = try #require(mine.merged(with: theirs, since: base))
        #expect(merged.records.map(\.id) == [1, 2])
    }

    @Test func `a record that both have changed has this process's value`() throws {
        var (mine, theirs) = (base, base)
        mine.update(1) { $0.attempt = 5 }
        theirs.update(1) { $0.attempt = 6 }
        #expect(mine.merged(with: theirs, since: base)?[1]?.attempt == 5)
    }

    @Test func `one number for two records, and another token, are conflicts`() {
        var (mine, theirs) = (base, base)
        _ = mine.add(BackgroundResource(url: "https://example.org/a"))
        _ = theirs.add(BackgroundResource(url: "https://example.org/b"))
        #expect(mine.merged(with: theirs, since: base) == nil)
        let other = BackgroundJournal(identifier: "session", token: "other", options: BackgroundOptions())
        #expect(base.merged(with: other, since: base) == nil)
    }

    @Test func `a generation that another process has begun is the current one`() throws {
        var options = BackgroundOptions()
        options.isDiscretionary = true
        var (mine, theirs) = (base, base)
        mine.update(1) { $0.isPaused = true }
        theirs.use(options)
        let merged = try #require(mine.merged(with: theirs, since: base))
        #expect(merged.generations.map(\.number) == [0, 1] && merged.current.options == options)
        var others = options
        others.sendsLaunchEvents = false
        mine.use(others)
        #expect(mine.merged(with: theirs, since: base) == nil, "two settings for one session")
    }
}
