internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of reading well-formed resume data, and of refusing unsafe values.
@Suite("ResumeData", .endsWhenHung)
struct ResumeDataTests {
    typealias Key = ResumeDataFields.Key

    @Test func `the sample of an Apple system is read`() throws {
        let resumeData = try ResumeData(AppleSample.data)
        #expect(
            resumeData.downloadURL.absoluteString
                == "https://esamultimedia.esa.int/docs/EarthObservation/Induction_Study_150110.pdf")
        #expect(resumeData.receivedByteCount == 6_230_930)
        #expect(resumeData.temporaryFileName == "CFNetworkDownload_TySS5B.tmp")
        #expect(resumeData.recordedPath == nil)
        #expect(resumeData.entityTag == #""4bc89d01-164a3cc""#)
        #expect(resumeData.lastModified == "Fri, 16 Apr 2010 17:23:13 GMT")
        #expect(resumeData.byteRange == nil)
        #expect(resumeData.version == 5)
        #expect(resumeData.hasStrongValidator)
    }

    @Test(arguments: ResumeDataFields.Form.allCases, [1, 2, 4, 5, 17])
    func `every version is read in every form, by its content`(_ form: ResumeDataFields.Form, version: Int) throws {
        let resumeData = try ResumeData(ResumeDataFields(version: Int64(version)).data(form))
        #expect(resumeData.downloadURL.absoluteString == "https://cdn.example.com/film.mp4?signature=s3cret")
        #expect(resumeData.receivedByteCount == 1_000)
        #expect(resumeData.entityTag == #""4bc89d01-164a3cc""#)
        #expect(resumeData.lastModified == "Fri, 16 Apr 2010 17:23:13 GMT")
        #expect(resumeData.byteRange == (version == 4 ? "512-" : nil))
        #expect(resumeData.temporaryFileName == "CFNetworkDownload_a1B2c3.tmp")
        #expect(
            resumeData.recordedPath == (version == 1 ? "/private/var/mobile/tmp/CFNetworkDownload_a1B2c3.tmp" : nil))
        #expect(resumeData.version == version)
    }

    @Test(arguments: ResumeDataFields.Form.allCases)
    func `non-ASCII, escaped, long, and empty texts are read exactly`(_ form: ResumeDataFields.Form) throws {
        let name = "<a&b> \"ÄÖ\" 日本 👩‍👩‍👧‍👦 " + String(repeating: "x", count: 180)
        var fields = ResumeDataFields()
        fields[Key.name] = .string(name)
        fields[Key.entityTag] = .string("")
        let resumeData = try ResumeData(fields.data(form))
        #expect(resumeData.temporaryFileName == name)
        #expect(resumeData.entityTag == nil)
    }

    @Test func `a mutable string in an archive is read`() throws {
        let values = ResumeDataFields().values.mapValues(\.object)
        let dictionary = NSMutableDictionary(dictionary: values)
        dictionary[Key.name] = NSMutableString(string: "CFNetworkDownload_mutable.tmp")
        let data = try NSKeyedArchiver.archivedData(withRootObject: dictionary, requiringSecureCoding: false)
        #expect(try ResumeData(data).temporaryFileName == "CFNetworkDownload_mutable.tmp")
    }

    @Test func `the first object of an archive represents nil`() throws {
        let text = String(decoding: AppleSample.data, as: UTF8.self)
        func replacingReference(_ position: Int) throws -> ResumeData {
            let reference = "<integer>\(position)</integer>"
            #expect(text.contains(reference))
            return try ResumeData(Data(text.replacingOccurrences(of: reference, with: "<integer>0</integer>").utf8))
        }
        #expect(try replacingReference(16).entityTag == nil)
        let error = #expect(throws: DownloadError.self) { try replacingReference(14) }
        #expect(error?.detail == "the resume data does not contain a valid name of a temporary file")
    }

    @Test(
        arguments: [Key.entityTag, Key.date, Key.range, Key.version, Key.currentRequest, Key.originalRequest],
        [nil, .string("\r\nX: y"), .integer(-1), .array([]), .real(0.5), .date, .truth(true)]
            as [ResumeDataFields.Value?])
    func `optional values may be missing or invalid`(_ key: String, _ value: ResumeDataFields.Value?) throws {
        for form in [ResumeDataFields.Form.xml, .binary, .binaryArchive] {
            var fields = ResumeDataFields(version: 4)
            fields[key] = value
            let resumeData = try ResumeData(fields.data(form))
            #expect(resumeData.receivedByteCount == 1_000)
            for text in [resumeData.entityTag, resumeData.lastModified, resumeData.byteRange] {
                #expect(text?.contains("\r\n") != true)
            }
            if key == Key.entityTag { #expect(resumeData.entityTag == nil && !resumeData.hasStrongValidator) }
        }
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        let key: String
        let value: ResumeDataFields.Value?
        let reason: String

        init(_ key: String, _ value: ResumeDataFields.Value?, _ reason: String) {
            (self.key, self.value, self.reason) = (key, value, reason)
        }

        var testDescription: String { "\(key): \(value.map { "\($0)" } ?? "missing")" }
    }

    static let refusals: [Refusal] =
        [
            nil, .integer(1), .string(""), .string("not a URL"), .string("/film.mp4"), .string("https:///film.mp4"),
            .data(Array("https://cdn.example.com".utf8)), .string("https://cdn.example.com/a\r\nHost: b"),
            .string("https://a%0d%0ab.example/x"), .string("https://cdn.example.com:0/"), .string("ftp://a.example/x"),
            .string("file:///etc/passwd"), .string("data:text/plain,x"), .string("javascript:alert(1)"),
        ].map { Refusal(Key.url, $0, "download URL") }
        + [.string("https://user:pass@a.example/x"), .string("https://user@a.example/x")].map {
            Refusal(Key.url, $0, "credentials")
        }
        + [
            nil, .integer(-1), .integer(.min), .integer(.max), .integer(1 << 62 + 1), .string("1000"), .real(1000),
            .truth(true), .array([.integer(1000)]), .dictionary(["x": .integer(1)]),
        ].map { Refusal(Key.count, $0, "number of bytes") }
        + [
            nil, .string(""), .string("."), .string(".."), .string("../x.tmp"), .string("/x.tmp"), .string("a/b"),
            .string("..\\x.tmp"), .string("a\u{0}b"), .string("a\nb"), .string(String(repeating: "x", count: 256)),
            .integer(5), .data([1]), .dictionary([:]),
        ].map { Refusal(Key.name, $0, "name") }
        + [
            .string(""), .string("x.tmp"), .string("tmp/x.tmp"), .string("/"), .string("/tmp/../etc/passwd"),
            .string("/tmp/./x.tmp"), .string("/tmp//x.tmp"), .string("/tmp/"), .string("/tmp/a\nb"), .integer(5),
        ].map { Refusal(Key.path, $0, "path") }

    @Test(arguments: refusals)
    func `unsafe values are refused with a reason that does not contain them`(_ refusal: Refusal) throws {
        for form in [ResumeDataFields.Form.xml, .binary, .xmlArchive, .binaryArchiveOfLater] {
            var fields = ResumeDataFields()
            fields[refusal.key] = refusal.value
            // XML cannot contain every character.
            guard let data = try? fields.data(form) else { continue }
            let error = #expect(throws: DownloadError.self) { try ResumeData(data) }
            #expect(error?.code == .resumeDataUnusable)
            #expect(error?.isRetryable == false)
            let isForm = error?.detail.contains("property list") == true && form != .binary
            #expect(isForm || error?.detail.contains(refusal.reason) == true, "\(error?.detail ?? "")")
            for secret in ["s3cret", "pass@", "passwd", "signature"] {
                #expect("\(error as Any)".contains(secret) == false)
            }
        }
    }

    @Test(arguments: ResumeDataFields.Form.allCases)
    func `a property list without resume data is refused`(_ form: ResumeDataFields.Form) throws {
        var fields = ResumeDataFields()
        fields.values = [:]
        let empty = try fields.data(form)
        #expect(throws: DownloadError.self) { try ResumeData(empty) }
        let array = try PropertyListSerialization.data(fromPropertyList: ["a", "b"], format: .binary, options: 0)
        let error = #expect(throws: DownloadError.self) { try ResumeData(array) }
        #expect(error?.detail == "the resume data is not a dictionary")
    }

    @Test(
        arguments: [
            "", " ", "{}", "bplist00", "bplist15", "<plist>", "<plist/>", "{ a = b; }", "\u{FEFF}", "<?xml", "<",
        ])
    func `data that is not a property list is refused`(_ text: String) {
        let error = #expect(throws: DownloadError.self) { try ResumeData(Data(text.utf8)) }
        #expect(error?.detail == "the resume data is not a property list")
    }

    @Test func `resume data beyond the maximum size is refused`() throws {
        let padding = Data(repeating: 0x20, count: 1 << 20)
        let error = #expect(throws: DownloadError.self) { try ResumeData(AppleSample.data + padding) }
        #expect(error?.detail.contains("longer") == true)
        let fitting = AppleSample.data + padding.prefix((1 << 20) - AppleSample.data.count)
        #expect(try ResumeData(fitting) == ResumeData(AppleSample.data))
    }

    @Test func `printed descriptions contain no secrets of the URL`() throws {
        let resumeData = try ResumeData(ResumeDataFields().data(.binary))
        for text in ["\(resumeData)", String(reflecting: resumeData), "\([resumeData])"] {
            #expect(!text.contains("s3cret") && !text.contains("4bc89d01"))
            #expect(text.contains("1000 bytes of https://cdn.example.com/film.mp4"))
        }
    }
}
