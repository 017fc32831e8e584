internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct DaemonTaskNameTests {
    @Test func `background 3: the description of a task has a version and names journal, record, and attempt`() {
        let name = DaemonTaskName(journal: "0123abcd", record: 12, attempt: 3)
        #expect(name.text == "async-downloads/1/0123abcd/12/3")
        #expect(DaemonTaskName(name.text) == name)
    }

    @Test(arguments: [
        nil, "", "https://example.org/1", "async-downloads/2/0123abcd/12/3", "async-downloads/1/0123abcd/12",
        "async-downloads/1//12/3", "async-downloads/1/0123abcd/0/3", "async-downloads/1/0123abcd/12/-1",
        "async-downloads/1/0123abcd/+12/3", "async-downloads/1/0123abcd/12/3/4", "async-downloads/1/0123abcd/12/03",
    ])
    func `background 4: any other description is not of this package`(text: String?) {
        #expect(DaemonTaskName(text) == nil)
    }
}
