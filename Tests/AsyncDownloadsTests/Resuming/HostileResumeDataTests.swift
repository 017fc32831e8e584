internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests with malicious resume data: parsing ends soon, without a crash, and accepts no impossible values.
@Suite("ResumeData: hostile input", .endsWhenHung)
struct HostileResumeDataTests {
    typealias List = BinaryListBuilder

    struct Hostile: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let data: Data

        init(_ testDescription: String, _ data: Data) {
            self.testDescription = testDescription
            self.data = data
        }

        init(_ testDescription: String, _ objects: [[UInt8]], _ change: (inout List) -> Void = { _ in }) {
            var list = List(objects)
            change(&list)
            self.init(testDescription, list.data)
        }
    }

    private static let text = [List.string("a")]
    private static let pair = [List.dictionary([(1, 2)]), List.string("a"), List.string("b")]
    private static let huge = UInt64(Int64.max)

    static let lists: [Hostile] = [
        Hostile("a list of a dictionary that contains both", [List.array([1]), List.dictionary([(2, 0)])] + text),
        Hostile("a dictionary that is its own key", [List.dictionary([(0, 0)])]),
        Hostile("an array that contains itself", [List.array([0, 0])]),
        Hostile("a chain of dictionaries that are keys", (0..<60_000).map { List.dictionary([($0 + 1, $0 + 1)]) }),
        Hostile("arrays that double forty times", (0..<40).map { List.array([$0 + 1, $0 + 1]) } + text),
        Hostile("arrays a hundred thousand deep", (0..<100_000).map { List.array([$0 + 1]) } + text),
        Hostile("a count of objects beyond the number of bytes", pair) { $0.count = huge },
        Hostile("a count of objects that overflows", pair) { $0.count = .max },
        Hostile("no objects", pair) { $0.count = 0 },
        Hostile("a missing root", pair) { $0.root = 3 },
        Hostile("a root that overflows", pair) { $0.root = .max },
        Hostile("a table in the trailer", pair) { $0.table = 100 },
        Hostile("a table offset that overflows", pair) { $0.table = .max },
        Hostile("a table in the header", pair) { $0.table = 4 },
        Hostile("an offset in the header", pair) { $0.firstOffset = 0 },
        Hostile("an offset in the table", pair) { $0.firstOffset = 26 },
        Hostile("an object offset that overflows", pair) { list in
            list.firstOffset = .max
            list.offsetSize = 8
        },
        Hostile("offsets of zero bytes", pair) { $0.offsetSize = 0 },
        Hostile("offsets of nine bytes", pair) { $0.offsetSize = 9 },
        Hostile("offsets of 255 bytes", pair) { $0.offsetSize = 255 },
        Hostile("references of zero bytes", pair) { $0.referenceSize = 0 },
        Hostile("references of nine bytes", pair) { $0.referenceSize = 9 },
        Hostile("an array longer than the file", [List.header(0xA, 0, claim: huge)]),
        Hostile("an array with a count that overflows", [List.header(0xA, 0, claim: .max)]),
        Hostile("a dictionary longer than the file", [List.header(0xD, 0, claim: huge / 2)]),
        Hostile("a string longer than the file", [List.header(0x5, 0, claim: huge)]),
        Hostile("UTF-16 text longer than the file", [List.header(0x6, 0, claim: huge / 2 + 1)]),
        Hostile("data longer than the file", [List.header(0x4, 0, claim: huge)]),
        Hostile("a count that is not an integer", [[0xDF, 0x51, 0x61]]),
        Hostile("a count of 32768 bytes", [[0xDF, 0x1F, 0x00]]),
        Hostile("an integer of 32768 bytes", [[0x1F, 0x00]]),
        Hostile("an unknown kind", [[0x90]]),
        Hostile("a key that is half a surrogate pair", [List.dictionary([(1, 1)]), [0x61, 0xD8, 0x00]]),
        Hostile("a key that is not ASCII", [List.dictionary([(1, 1)]), [0x51, 0xFF]]),
        Hostile("a duplicate key", [List.dictionary([(1, 1), (1, 1)]), List.string("a")]),
        Hostile("a missing key", [List.dictionary([(9, 1)]), List.string("a")]),
    ]

    static let archives: [Hostile] = [
        archive("a root that is its own reference", root: 1, first: List.uid(1)),
        archive("a missing root", root: 9, first: empty),
        archive("a root that overflows", root: .max, first: empty),
        archive("a root that represents nil", root: 0, first: empty),
        archive("a root without keys", root: 1, first: List.dictionary([])),
        archive("keys that are their own dictionary", root: 1, first: List.dictionary([(9, 6), (10, 6)])),
        archive("keys that refer to themselves", root: 1, first: List.dictionary([(9, 11), (10, 11)])),
        archive("more keys than values", root: 1, first: List.dictionary([(9, 11), (10, 12)])),
        archive("a duplicate key", root: 1, first: List.dictionary([(9, 13), (10, 13)])),
    ]

    /// An empty dictionary as archives encode it.
    private static let empty = List.dictionary([(9, 12), (10, 12)])

    /// Returns an archive of nil and two objects; the second object is a string.
    private static func archive(_ name: String, root: UInt64, first: [UInt8]) -> Hostile {
        let objects = [
            List.dictionary([(1, 2), (3, 4), (5, 7)]), List.string("$archiver"), List.string("NSKeyedArchiver"),
            List.string("$objects"), List.array([2, 6, 2]), List.string("$top"), first,
            List.dictionary([(8, 14)]), List.string("root"), List.string("NS.keys"), List.string("NS.objects"),
            List.array([15]), List.array([]), List.array([16, 16]), List.uid(root), List.uid(1), List.uid(2),
        ]
        return Hostile(name, objects)
    }

    private static let open = #"<plist version="1.0">"#
    private static let depth = 40_000

    static let texts: [Hostile] = [
        Hostile("arrays 40,000 deep", xml(nested("<array>", "</array>"))),
        Hostile("arrays without an end", Data((open + String(repeating: "<array>", count: 100_000)).utf8)),
        Hostile(
            "a declared entity", Data("<!DOCTYPE plist [<!ENTITY a \"b\">]>\(open)<dict/></plist>".utf8)
        ),
        Hostile("an unknown entity", xml("<dict><key>&a;</key><string/></dict>")),
        Hostile("an invalid character", xml("<dict><key>&#xD800;</key><string/></dict>")),
        Hostile("a character number that overflows", xml("<dict><key>&#99999999999;</key><string/></dict>")),
        Hostile("a comment without an end", xml("<dict><!-- </dict>")),
        Hostile("a CDATA section without an end", xml("<dict><key><![CDATA[</key></dict>")),
        Hostile("a value without a key", xml("<dict><string/></dict>")),
        Hostile("a key without a value", xml("<dict><key>a</key></dict>")),
        Hostile("two adjacent keys", xml("<dict><key>a</key><key>b</key><string/></dict>")),
        Hostile("a duplicate key", xml("<dict><key>a</key><string/><key>a</key><string/></dict>")),
        Hostile("a key in an array", xml("<array><key>a</key></array>")),
        Hostile("a mismatched end tag", xml("<dict></array>")),
        Hostile("a mismatched end tag of a leaf", xml("<dict><key>a</string><string/></dict>")),
        Hostile("an end tag without a start tag", xml("</dict><dict/>")),
        Hostile("an unknown element", xml("<dict><key>a</key><set/></dict>")),
        Hostile("an element in a leaf", xml("<dict><key><string/></key><string/></dict>")),
        Hostile("text between elements", xml("<dict>a</dict>")),
        Hostile("two values", xml("<dict/><dict/>")),
        Hostile("no value", xml("")),
        Hostile(
            "bytes that are not UTF-8",
            Data(open.utf8) + Data("<dict><key>".utf8) + Data([0xFF]) + Data("</key><string/></dict></plist>".utf8)),
    ]

    private static func xml(_ value: String) -> Data { Data("\(open)\(value)</plist>".utf8) }

    private static func nested(_ start: String, _ end: String) -> String {
        String(repeating: start, count: depth) + "<string>a</string>" + String(repeating: end, count: depth)
    }

    @Test(arguments: lists + texts)
    func `hostile property lists are refused`(_ hostile: Hostile) {
        let error = #expect(throws: DownloadError.self) { try ResumeData(hostile.data) }
        #expect(error?.code == .resumeDataUnusable)
        let details = ["the resume data is not a property list", "the resume data is not a dictionary"]
        #expect(details.contains(error?.detail ?? ""))
    }

    @Test(arguments: archives)
    func `hostile archives are refused`(_ hostile: Hostile) throws {
        let error = #expect(throws: DownloadError.self) { try ResumeData(hostile.data) }
        #expect(error?.detail == "the resume data is an archive that does not contain a dictionary")
        // Otherwise the same archive is accepted up to the missing fields.
        let good = Self.archive("", root: 1, first: Self.empty)
        let other = #expect(throws: DownloadError.self) { try ResumeData(good.data) }
        #expect(other?.detail == "the resume data does not contain a download URL")
    }

    @Test(arguments: [0, 1, 2])
    func `hostile values that are not needed are ignored`(_ kind: Int) throws {
        let keys = [ResumeDataFields.Key.url, ResumeDataFields.Key.count, ResumeDataFields.Key.name, "more"]
        var objects = [List.dictionary(zip(1...4, 5...8).map { ($0, $1) })] + keys.map { List.string($0) }
        objects += [List.utf16("https://a.example/x"), List.integer(7), List.string("x.tmp")]
        switch kind {
        case 0: objects.append(List.array([8, 0]))
        case 1: objects += (0..<40).map { List.array([$0 + 9, $0 + 9]) } + Self.text
        default: objects.append(List.header(0x4, 0, claim: .max))
        }
        let resumeData = try ResumeData(List(objects).data)
        #expect(resumeData.receivedByteCount == 7 && resumeData.temporaryFileName == "x.tmp")
    }

    @Test(arguments: ["array", "dict"])
    func `deep nesting in a value that is not needed is ignored`(_ element: String) throws {
        let text = String(decoding: try ResumeDataFields().data(.xml), as: UTF8.self)
        let start = element == "dict" ? "<dict><key>a</key>" : "<array>"
        let deep = "<key>more</key>" + Self.nested(start, "</\(element)>") + "</dict>\n</plist>"
        let data = Data(text.replacingOccurrences(of: "</dict>\n</plist>", with: deep).utf8)
        #expect(data.count > text.utf8.count + Self.depth)
        #expect(try ResumeData(data) == ResumeData(ResumeDataFields().data(.xml)))
    }

    @Test(arguments: ResumeDataFields.Form.allCases)
    func `truncated resume data is refused`(_ form: ResumeDataFields.Form) throws {
        let data = try ResumeDataFields().data(form)
        let end = form.isXML ? data.trimmedEnd : data.count
        for length in form.positions(in: 0..<end) {
            if check(data.prefix(length)) { Issue.record("\(length) of \(data.count) bytes are accepted") }
        }
    }

    @Test(arguments: ResumeDataFields.Form.allCases)
    func `resume data with one changed byte is safely read or refused`(_ form: ResumeDataFields.Form) throws {
        let data = try ResumeDataFields().data(form)
        for index in form.positions(in: data.indices) {
            var mutant = data
            mutant[index] ^= [0x01, 0x08, 0x80, 0xFF][index % 4]
            check(mutant)
        }
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func `resume data with random changes is safely read or refused`(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        let seeds =
            try [AppleSample.data] + ResumeDataFields.Form.allCases.map { try ResumeDataFields().data($0) }
            + Self.archives.map(\.data)
        var readable = 0
        for _ in 0..<1000 {
            let mutant = try generator.mutant(of: seeds)
            if check(mutant) { readable += 1 }
        }
        // If no mutant were readable, nothing would be tested about the values that are read. The number differs from run to
        // run, because the order of the values in an archive does.
        #expect(readable > 10)
    }

    /// Returns whether the data is read; checks the values if it is, and the error otherwise.
    @discardableResult
    private func check(_ data: Data) -> Bool {
        do {
            let resumeData = try ResumeData(data)
            if !resumeData.isUsable { Issue.record("\(resumeData) of \(data.base64EncodedString())") }
            return true
        } catch {
            if error.code != .resumeDataUnusable { Issue.record("\(error) of \(data.base64EncodedString())") }
            return false
        }
    }
}

extension ResumeData {
    /// Whether all properties have the values that their documentation permits.
    fileprivate var isUsable: Bool {
        let isURL =
            ["http", "https"].contains(downloadURL.scheme?.lowercased()) && downloadURL.host()?.isEmpty == false
        let isName =
            1...255 ~= temporaryFileName.utf8.count && ![".", ".."].contains(temporaryFileName)
            && !temporaryFileName.utf8.contains { $0 < 0x20 || "/\\\u{7F}".utf8.contains($0) }
        let isPath = recordedPath.map { $0.hasPrefix("/") && !$0.contains("/../") && !$0.hasSuffix("/..") } ?? true
        let texts = [entityTag, lastModified, byteRange].compactMap(\.self)
        return isURL && downloadURL.user == nil && downloadURL.password == nil && 0...(1 << 62) ~= receivedByteCount
            && isName && isPath && texts.allSatisfy { !$0.isEmpty && !$0.contains { "\r\n\0".contains($0) } }
    }
}

extension ResumeDataFields.Form {
    fileprivate var isXML: Bool { rawValue.hasPrefix("xml") }

    /// Returns the positions that tests try: all positions of a binary list, and every third one of a text.
    ///
    /// A text is long and mostly consists of names of elements. Its end is tried completely.
    fileprivate func positions(in range: Range<Int>) -> [Int] {
        range.filter { !isXML || $0 % 3 == 0 || $0 >= range.upperBound - 64 }
    }
}

extension Data {
    /// The end of the last tag.
    fileprivate var trimmedEnd: Int { (lastIndex(of: UInt8(ascii: ">")) ?? 0) + 1 }
}

extension SplitMix64 {
    /// Returns a copy of one of `seeds` with a few changes that often break parsers.
    fileprivate mutating func mutant(of seeds: [Data]) throws -> Data {
        var bytes = [UInt8](try #require(seeds.randomElement(using: &self)))
        for _ in 0..<Int.random(in: 1...4, using: &self) {
            let position = Int.random(in: 0..<max(bytes.count, 1), using: &self)
            let length = min(Int.random(in: 1...16, using: &self), bytes.count - position)
            switch Int.random(in: 0..<7, using: &self) {
            case 0 where length > 0: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &self)
            case 1 where length > 0:
                bytes[position] = [0x00, 0x7F, 0x80, 0xFF, 0x0F, 0x1F].randomElement(using: &self) ?? 0
            case 2 where length > 0: bytes[position] = .random(in: .min ... .max, using: &self)
            case 3: bytes.removeSubrange(position..<(position + length))
            case 4: bytes.insert(contentsOf: bytes[position..<(position + length)], at: position)
            case 5:
                let other = try #require(seeds.randomElement(using: &self))
                let start = Int.random(in: 0..<other.count, using: &self)
                bytes.replaceSubrange(position..., with: other[start...])
            default:
                // The trailer of a binary list contains all sizes and offsets.
                let place = bytes.count - Int.random(in: 1...32, using: &self)
                if bytes.indices.contains(place) { bytes[place] = .random(in: .min ... .max, using: &self) }
            }
        }
        return Data(bytes)
    }
}
