internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of the validator that can prove the bytes of resume data.
@Suite("ResumeData: the validator", .endsWhenHung)
struct ResumeDataValidatorTests {
    typealias Key = ResumeDataFields.Key

    private static let lastModified = "Fri, 16 Apr 2010 17:23:13 GMT"

    @Test(
        arguments: [
            (#""abc""#, lastModified, #""abc""#), (#""abc""#, nil, #""abc""#), (#"W/"abc""#, lastModified, nil),
            (#"W/"abc""#, nil, nil),
            ("abc", lastModified, nil), ("", lastModified, nil), (nil, lastModified, nil), (nil, nil, nil),
            (#""a"b""#, nil, nil),
        ] as [(String?, String?, String?)])
    func `rules 2 to 5: a strong entity tag proves the bytes, and nothing else does alone`(
        _ tag: String?, _ date: String?, _ validator: String?
    ) throws {
        var fields = ResumeDataFields()
        fields[Key.entityTag] = tag.map { .string($0) }
        fields[Key.date] = date.map { .string($0) }
        let resumeData = try ResumeData(fields.data(.binary))
        #expect(resumeData.validator()?.rawValue == validator)
        #expect(resumeData.hasStrongValidator == (validator != nil))
        let representation = resumeData.representation()
        #expect(representation.validator?.rawValue == validator)
        #expect(representation.finalURL == "https://cdn.example.com/film.mp4?signature=s3cret")
        #expect(representation.length == nil)
        #expect(representation.lastModified == date)
    }

    @Test(
        arguments: [(nil, 59, false), (nil, 60, true), (nil, -5, false), (#"W/"abc""#, 3600, false)]
            as [(String?, Int64, Bool)])
    func `rule 3: a date is strong if the response is a minute younger and has no weak entity tag`(
        _ tag: String?, age: Int64, isStrong: Bool
    ) throws {
        var fields = ResumeDataFields()
        fields[Key.entityTag] = tag.map { .string($0) }
        let resumeData = try ResumeData(fields.data(.xmlArchive))
        let modified = try #require(HTTPDate(Self.lastModified))
        let response = HTTPDate(secondsSinceEpoch: modified.secondsSinceEpoch + age)
        let validator = resumeData.validator(responseDate: response)
        #expect(validator == (isStrong ? .lastModified(Self.lastModified) : nil))
        #expect(resumeData.representation(responseDate: response).validator == validator)
    }

    @Test(arguments: [0, 1, 1_000, 1 << 62] as [Int64])
    func `the received bytes start at the first byte`(_ count: Int64) throws {
        var fields = ResumeDataFields()
        fields[Key.count] = .integer(count)
        for form in ResumeDataFields.Form.allCases {
            let received = try ResumeData(fields.data(form)).received
            #expect(received.count == count && received.prefixEnd == count)
        }
    }
}
