internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("Names in directories", .endsWhenHung)
struct DirectoryNamesTests {
    @Test func `spellings that a volume may treat as equal are one spelling`() {
        let names = DirectoryNames()
        names.give("/d/\u{E9}.zip", to: "a")
        #expect(names.others(than: "b", at: "/d/e\u{301}.zip") == ["/d/\u{E9}.zip"])
        #expect(names.others(than: "b", at: "/D/\u{C9}.ZIP") == ["/d/\u{E9}.zip"])
        #expect(names.others(than: "a", at: "/d/\u{E9}.zip").isEmpty)
        names.give("/d/e\u{301}.zip", to: "b")
        #expect(names.others(than: "c", at: "/d/\u{E9}.zip").count == 2)
        names.withdraw("/d/\u{E9}.zip", from: "a")
        #expect(names.others(than: "c", at: "/d/\u{E9}.zip") == ["/d/e\u{301}.zip"])
    }
}
