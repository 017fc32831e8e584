internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("Names in directories", .endsWhenHung)
struct DirectoryNamesTests {
    private static func file(_ inode: UInt64) -> FileInformation {
        FileInformation(kind: .regular, device: 1, inode: inode, size: 0, linkCount: 1, owner: 0)
    }

    @Test func `spellings that a volume may treat as equal are one spelling`() {
        let names = DirectoryNames()
        let (composed, decomposed) = ("/d/\u{E9}.zip", "/d/e\u{301}.zip")
        names.give(composed, to: "a", Self.file(1))
        for path in [composed, decomposed, "/D/\u{C9}.ZIP"] {
            let others = names.others(than: "b", at: path)
            #expect(others.map { $0.has(composed) } == [true])
            #expect(others.map { $0.has(Self.file(1)) } == [true])
            #expect(others.map { $0.has(Self.file(2)) } == [false])
        }
        #expect(names.others(than: "a", at: composed).isEmpty)
        names.give(decomposed, to: "b", Self.file(2))
        #expect(names.others(than: "c", at: composed).count == 2)
        names.withdraw(composed, from: "a")
        #expect(names.others(than: "c", at: composed).map { $0.has(decomposed) } == [true])
    }

    @Test func `a path that is given again has one owner`() {
        let names = DirectoryNames(capacity: 1)
        for (number, resource) in (["a", "b", "b"] as [ResourceKey]).enumerated() {
            names.give("/d/name", to: resource, Self.file(UInt64(number)))
            // The owner is among the names that were given earlier.
            names.give("/d/\(number)", to: nil, nil)
        }
        #expect(names.others(than: "b", at: "/d/name").isEmpty)
        #expect(names.others(than: "a", at: "/d/name").map { $0.has(Self.file(2)) } == [true])
    }

    @Test func `at least the capacity of names is kept, and at most twice the capacity`() {
        let names = DirectoryNames(capacity: 10)
        for number in 0..<100 {
            names.give("/d/\(number)", to: "a", nil)
            let kept = (0...number).filter { !names.others(than: nil, at: "/d/\($0)").isEmpty }
            #expect(kept == Array(number - kept.count + 1...number))
            #expect(kept.count >= min(number + 1, 10) && kept.count <= 22)
            #expect(names.mayBeForgotten("/d/0") == (kept.first != 0))
        }
        #expect(!names.mayBeForgotten("/d/99"))
    }
}
