internal import Foundation

/// The dictionary of resume data, which can be changed and then written in each form.
struct ResumeDataFields: Sendable {
    enum Value: Sendable {
        case string(String)
        case integer(Int64)
        case real(Double)
        case truth(Bool)
        case data([UInt8])
        case date
        case array([Value])
        case dictionary([String: Value])

        var object: Any {
            switch self {
            case .string(let text): text
            case .integer(let number): number
            case .real(let number): number
            case .truth(let truth): truth
            case .data(let bytes): Data(bytes)
            case .date: Date(timeIntervalSince1970: 1_271_438_593)
            case .array(let elements): elements.map(\.object)
            case .dictionary(let entries): entries.mapValues(\.object)
            }
        }
    }

    var values: [String: Value]

    /// Creates the dictionary that a system with this version of the format writes.
    init(version: Int64 = 5) {
        values = [
            Key.url: .string("https://cdn.example.com/film.mp4?signature=s3cret"), Key.count: .integer(1_000),
            Key.entityTag: .string(#""4bc89d01-164a3cc""#), Key.date: .string("Fri, 16 Apr 2010 17:23:13 GMT"),
            Key.version: .integer(version), Key.currentRequest: .data(Array("bplist00 and so on".utf8)),
            Key.originalRequest: .data([]),
        ]
        if version == 1 {
            values[Key.path] = .string("/private/var/mobile/tmp/CFNetworkDownload_a1B2c3.tmp")
        } else {
            values[Key.name] = .string("CFNetworkDownload_a1B2c3.tmp")
        }
        if version == 4 { values[Key.range] = .string("512-") }
    }

    subscript(key: String) -> Value? {
        get { values[key] }
        set { values[key] = newValue }
    }

    enum Key {
        static let url = "NSURLSessionDownloadURL"
        static let count = "NSURLSessionResumeBytesReceived"
        static let entityTag = "NSURLSessionResumeEntityTag"
        static let date = "NSURLSessionResumeServerDownloadDate"
        static let range = "NSURLSessionResumeByteRange"
        static let version = "NSURLSessionResumeInfoVersion"
        static let name = "NSURLSessionResumeInfoTempFileName"
        static let path = "NSURLSessionResumeInfoLocalPath"
        static let currentRequest = "NSURLSessionResumeCurrentRequest"
        static let originalRequest = "NSURLSessionResumeOriginalRequest"
    }
}

extension ResumeDataFields {
    /// The forms of resume data, each written by Foundation.
    enum Form: String, Sendable, CaseIterable {
        case xml, binary
        case xmlArchive, binaryArchive
        case xmlArchiveOfLater, binaryArchiveOfLater
        /// An archive with dictionaries in place of UIDs, as written by XML converters that do not know archives.
        case convertedArchive

        fileprivate var format: PropertyListSerialization.PropertyListFormat {
            switch self {
            case .xml, .xmlArchive, .xmlArchiveOfLater: .xml
            case .binary, .binaryArchive, .binaryArchiveOfLater, .convertedArchive: .binary
            }
        }

        fileprivate var topKey: String? {
            switch self {
            case .xml, .binary: nil
            case .xmlArchive, .binaryArchive, .convertedArchive: "NSKeyedArchiveRootObjectKey"
            case .xmlArchiveOfLater, .binaryArchiveOfLater: "root"
            }
        }
    }

    func data(_ form: Form) throws -> Data {
        let objects = values.mapValues(\.object)
        guard let topKey = form.topKey else {
            return try PropertyListSerialization.data(fromPropertyList: objects, format: form.format, options: 0)
        }
        if form == .convertedArchive { return try Self.convertedArchive(objects, topKey) }
        let archiver = NSKeyedArchiver(requiringSecureCoding: false)
        archiver.outputFormat = form.format
        archiver.encode(NSDictionary(dictionary: objects), forKey: topKey)
        archiver.finishEncoding()
        return archiver.encodedData
    }

    private static func convertedArchive(_ values: [String: Any], _ topKey: String) throws -> Data {
        let count = values.count
        let root: [String: Any] = [
            "$class": ["CF$UID": count * 2 + 2], "NS.keys": (0..<count).map { ["CF$UID": $0 + 2] },
            "NS.objects": (0..<count).map { ["CF$UID": $0 + 2 + count] },
        ]
        let keys = values.keys.sorted()
        let archive: [String: Any] = [
            "$version": 100_000, "$archiver": "NSKeyedArchiver", "$top": [topKey: ["CF$UID": 1]],
            "$objects": ["$null", root] + keys + keys.compactMap { values[$0] } + [["$classname": "NSDictionary"]],
        ]
        return try PropertyListSerialization.data(fromPropertyList: archive, format: .binary, options: 0)
    }
}
