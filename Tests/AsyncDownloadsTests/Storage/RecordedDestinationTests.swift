internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct RecordedDestinationTests {
    private static let containers = AppContainers(FixedContainers(), groups: ["group.one", "group.other"])

    @Test(arguments: [
        ("/d", "."), ("/d/a", "a"), ("/d/a/b", "a/b"), ("/d/~a", "./~a"), ("/d/home:a", "home:a"), ("/da", "/da"),
        ("/containers/A/x/y", "~home:x/y"), ("/containers/A", "~home:"), ("/groups/B/x", "~group:group.one:x"),
        ("/containers/AB/x", "/containers/AB/x"), ("/containers/A/~x", "/containers/A/~x"),
    ])
    func `a path is recorded relative to the checkpoint or to a container`(path: String, text: String) throws {
        let recorded = RecordedDestination(path, relativeTo: "/d", Self.containers)
        #expect(recorded.text == text)
        if !path.contains("A/~") { #expect(RecordedDestination(text: text) == recorded) }
    }

    @Test(arguments: [
        ("/d/\u{E9}", "/d/e\u{301}", "/d/e\u{301}"), ("/d/e\u{301}", "/d/\u{E9}", "/d/\u{E9}"),
    ])
    func `directories with equivalent names are different ones`(directory: String, path: String, text: String) {
        #expect(RecordedDestination(path, relativeTo: directory, nil).text.utf8.elementsEqual(text.utf8))
    }

    @Test(arguments: ["/d/", "/"])
    func `a directory with a slash at its end contains its files`(directory: String) {
        #expect(RecordedDestination("/d/a", relativeTo: directory, nil).text == (directory == "/" ? "d/a" : "a"))
    }

    @Test func `a directory of checkpoints in a container comes before the container`() {
        let recorded = RecordedDestination("/containers/A/p/x", relativeTo: "/containers/A/p", Self.containers)
        #expect(recorded == .below(["x"]))
    }

    @Test func `paths are absolute on systems without containers`() {
        #expect(RecordedDestination("/containers/A/x", relativeTo: "/d", nil) == .absolute("/containers/A/x"))
        #expect(RecordedDestination(text: "") == .noFile)
    }

    @Test(arguments: [
        "~", "~/a", "~a", "~root:a", "~home:../a", "~home:~a", "~home:a/~b", "~group:a", "~home:a//b", "/a/../b",
        "/a//b", "/~a", "a/../b", "a//b", "../a", "a\u{0}b", "/", "a/",
    ])
    func `boundary 1: a forged text is refused`(text: String) {
        #expect(RecordedDestination(text: text) == nil)
    }
}
