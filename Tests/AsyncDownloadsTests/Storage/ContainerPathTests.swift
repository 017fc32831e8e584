internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Containers at fixed paths.
struct FixedContainers: Containers {
    var home = "/containers/A/"
    var groups: [String: String] = ["group.one": "/groups/B"]

    func group(_ identifier: String) -> String? { groups[identifier] }
}

@Suite(.endsWhenHung)
struct ContainerPathTests {
    @Test(arguments: [
        ("/containers/A/Documents/a.zip", "home:Documents/a.zip"), ("/containers/A", "home:"),
        ("/containers/AB/a.zip", "root:containers/AB/a.zip"), ("/groups/B/x/a", "group:group.one:x/a"),
        ("/Volumes/Disk/a", "root:Volumes/Disk/a"),
    ])
    func `background 16: a path is recorded relative to its container`(path: String, text: String) throws {
        let containers = FixedContainers()
        let recorded = try #require(ContainerPath(path, in: containers, group: "group.one"))
        #expect(recorded.text == text)
        #expect(ContainerPath(text: text) == recorded)
        #expect(recorded.path(in: containers) == path)
    }

    @Test func `background 16: a recorded path follows its container after an update`() throws {
        let old = FixedContainers()
        let home = try #require(ContainerPath("/containers/A/Documents/a.zip", in: old))
        let group = try #require(ContainerPath("/groups/B/a.zip", in: old, group: "group.one"))
        let new = FixedContainers(home: "/containers/C", groups: ["group.one": "/groups/D"])
        #expect(home.path(in: new) == "/containers/C/Documents/a.zip")
        #expect(group.path(in: new) == "/groups/D/a.zip")
        #expect(group.path(in: FixedContainers(groups: [:])) == nil)
    }

    @Test func `background 16: both spellings of a path below var are the same`() throws {
        let containers = FixedContainers(home: "/var/mobile/A")
        #expect(ContainerPath("/private/var/mobile/A/x", in: containers)?.text == "home:x")
        #expect(ContainerPath("/var/mobile/A/x", in: FixedContainers(home: "/private/var/mobile/A"))?.text == "home:x")
    }

    @Test(arguments: [
        "home:../x", "home:a/../b", "home:/x", "home:a//b", "home:.", "x:y", "home", "group::x", "group:a", "",
        "root:a/./b", "home:a\u{0}b",
    ])
    func `background 16: a text that leads out of its base is refused`(text: String) {
        #expect(ContainerPath(text: text) == nil)
    }

    @Test(arguments: ["relative", "/containers/A/../B", "/a//b"])
    func `a path that is not plain is refused`(path: String) {
        #expect(ContainerPath(path, in: FixedContainers()) == nil)
    }
}
