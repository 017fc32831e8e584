internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The names of hidden files (rule 43).
@Suite("PartialNames", .endsWhenHung)
struct PartialNamesTests {
    @Test("never are longer than a file system takes", arguments: ["a", "ä", "🗄️", "👩‍👩‍👧‍👦"])
    func length(character: String) {
        var location = PartialLocation.sample(in: "/d")
        location.baseName = String(repeating: character, count: 300)
        let names = PartialNames(location)
        for path in [names.lock, names.checkpoint] + PartialNames.Suffix.allCases.map({ names.path(.new(), $0) }) {
            #expect(path.utf8.count - 3 <= 255)
            #expect(path.hasPrefix("/d/.\(character)"))
        }
    }

    @Test("stay in the directory whatever the base name is", arguments: ["", "..", "a/b", "/", "a\0b", "a/\u{301}b"])
    func harmless(name: String) {
        var location = PartialLocation.sample(in: "/d")
        location.baseName = name
        let path = PartialNames(location).lock
        #expect(path.utf8.split(separator: UInt8(ascii: "/")).count == 2)
        #expect(!path.contains("\0"))
    }

    @Test(
        "are taken apart as the system does it, which knows no characters of several scalars",
        arguments: [
            ("/d/f", "/d", "f"), ("/d/\u{301}f", "/d", "\u{301}f"), ("/\u{301}f", "/", "\u{301}f"),
            ("\u{301}f", ".", "\u{301}f"), ("/\u{301}d/f", "/\u{301}d", "f"),
        ])
    func components(path: String, directory: String, name: String) {
        #expect(PartialNames.directory(of: path) == directory)
        #expect(PartialNames.lastComponent(of: path) == name)
    }

    @Test("are the same in every process")
    func fingerprint() {
        #expect(PartialNames(.sample(in: "/d"), user: 1000).stem == ".file.zip.\(Self.known)")
        #expect(PartialNames(.sample(in: "/e/"), user: 1000).lock == "/e/.file.zip.\(Self.known).lock")
    }

    @Test("differ with everything that tells requests apart")
    func differ() {
        var sites = [PartialLocation](repeating: .sample(in: "/d"), count: 8)
        sites[1].request.url += "x"
        sites[2].request.headers = [["Accept", "*/"], ["*", ""]]
        sites[3].request.headers = [["Accept*", "/*"]]
        sites[4].request.headers = []
        sites[5].baseName = "file.zi"
        sites[6].request.account = "7"
        sites[7].request.account = "8"
        let stems = Set(sites.map { PartialNames($0).stem })
        #expect(stems.count == sites.count)
        #expect(!stems.contains(PartialNames(sites[0], user: POSIXFileSystem().user + 1).stem), "another user")
    }

    @Test("are the same for another destination, credentials and checksum")
    func same() {
        var location = PartialLocation.sample(in: "/d")
        location.request.destination = "elsewhere"
        location.request.hasSecretHeaders = true
        location.secretHeaders = ["Authorization": "a"]
        location.request.checksum = "sha256=aa"
        #expect(PartialNames(location) == PartialNames(.sample(in: "/d")))
    }

    @Test("say which file and whose it is")
    func claim() {
        let names = PartialNames(.sample(in: "/d"))
        let claim = PartialNames.Claim.new()
        #expect(names.claim(from: PartialNames.lastComponent(of: names.path(claim, .partial))) == claim)
        #expect(claim.taken().token == claim.token)
        #expect(claim.taken().owner != claim.owner)
        for name in ["\(names.stem)-1-2.partial", "\(names.stem).checkpoint", ".other-\(claim.token).partial"] {
            #expect(names.claim(from: name) == nil)
        }
    }

    private static let known = "a9d16b3c6e9f08b4"
}
