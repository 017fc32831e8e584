internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of the names of hidden files (rule 43).
@Suite("PartialNames", .endsWhenHung)
struct PartialNamesTests {
    @Test(arguments: ["a", "ä", "🗄️", "👩‍👩‍👧‍👦"])
    func `rule 43: names are never longer than file systems permit`(character: String) {
        var location = PartialLocation.sample(in: "/d")
        location.baseName = String(repeating: character, count: 300)
        let names = PartialNames(location)
        for path in [names.lock, names.checkpoint] + PartialNames.Suffix.allCases.map({ names.path(.new(), $0) }) {
            #expect(path.utf8.count - 3 <= 255)
            #expect(path.hasPrefix("/d/.\(character)"))
        }
    }

    @Test(arguments: ["", "..", "a/b", "/", "a\0b", "a/\u{301}b"])
    func `names stay in the directory whatever the base name is`(name: String) {
        var location = PartialLocation.sample(in: "/d")
        location.baseName = name
        let path = PartialNames(location).lock
        #expect(path.utf8.split(separator: UInt8(ascii: "/")).count == 2)
        #expect(!path.contains("\0"))
    }

    @Test(
        arguments: [
            ("/d/f", "/d", "f"), ("/d/\u{301}f", "/d", "\u{301}f"), ("/\u{301}f", "/", "\u{301}f"),
            ("\u{301}f", ".", "\u{301}f"), ("/\u{301}d/f", "/\u{301}d", "f"),
        ])
    func `paths are split by bytes instead of characters`(path: String, directory: String, name: String) {
        #expect(PartialNames.directory(of: path) == directory)
        #expect(PartialNames.lastComponent(of: path) == name)
    }

    @Test func `names are the same in every process`() {
        #expect(PartialNames(.sample(in: "/d"), user: 1000).stem == ".file.zip.\(Self.known)")
        #expect(PartialNames(.sample(in: "/e/"), user: 1000).lock == "/e/.file.zip.\(Self.known).lock")
    }

    @Test func `names differ with everything that distinguishes requests`() {
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

    @Test func `names are the same for another destination, other credentials, and another checksum`() {
        var location = PartialLocation.sample(in: "/d")
        location.request.destination = "elsewhere"
        location.request.hasSecretHeaders = true
        location.secretHeaders = ["Authorization": "a"]
        location.request.checksum = "sha256=aa"
        #expect(PartialNames(location) == PartialNames(.sample(in: "/d")))
    }

    @Test func `names identify the file and its owner`() {
        let names = PartialNames(.sample(in: "/d"))
        let claim = PartialNames.Claim.new()
        #expect(names.claim(from: PartialNames.lastComponent(of: names.path(claim, .partial))) == claim)
        #expect(claim.taken().token == claim.token)
        #expect(claim.taken().owner != claim.owner)
        #expect(claim.exclusive == PartialNames.Claim(exclusive: claim.token))
        #expect(claim.exclusive.isExclusive && !claim.isExclusive && !claim.exclusive.taken().isExclusive)
        #expect(PartialNames.Claim(exclusive: "../victim") == nil)
        for name in ["\(names.stem)-1-2.partial", "\(names.stem).checkpoint", ".other-\(claim.token).partial"] {
            #expect(names.claim(from: name) == nil)
        }
    }

    @Test func `a displaced checkpoint has the stem of its location`() throws {
        let names = PartialNames(.sample(in: "/d"))
        let displaced = PartialNames.lastComponent(of: names.path(.new(), .checkpoint))
        #expect(names.isDisplacedCheckpoint(displaced))
        #expect(!names.isDisplacedCheckpoint("\(names.stem).checkpoint"))
        for name in [displaced, "\(names.stem).checkpoint"] {
            let hidden = try #require(HiddenName(name))
            #expect(hidden.stem == names.stem && hidden.isCheckpoint && !hidden.isPartial)
        }
    }

    private static let known = "ac9982ddbd82e8e2"
}
