internal import Foundation

@testable import AsyncDownloads

/// The properties of tokens and resume data: paths stay below a directory, and positions are consistent.
extension Property {
    static func resumeToken(_ bytes: [UInt8]) throws {
        guard let token = try? JSONDecoder().decode(ResumeToken.self, from: Data(bytes)) else { return }
        let end = token.receivedRanges.last?.upperBound ?? 0
        try demand(
            0...(token.totalByteCount ?? FieldScanner.maximumNumber) ~= end, "more bytes than the representation has")
        try demand(Origin(token.url) != nil && token.url.user == nil, "a URL that cannot be requested")
        try demand(token.headers.firstInvalidField() == nil, "a header that cannot be sent")
        let directory = URL(fileURLWithPath: "/d", isDirectory: true)
        let file = token.partialFile(relativeTo: directory).standardizedFileURL
        try demand(file.path.utf8.starts(with: "/d/".utf8), "a path outside the directory")
        let coded = try JSONEncoder().encode(token)
        try demand(
            try JSONDecoder().decode(ResumeToken.self, from: coded) == token, "a different token after reading back")
    }

    static func resumeData(_ bytes: [UInt8]) throws {
        guard let data = try? ResumeData(Data(bytes)) else { return }
        try demand(0...FieldScanner.maximumNumber ~= data.receivedByteCount, "a length out of bounds")
        try demand(Origin(data.downloadURL) != nil && data.downloadURL.user == nil, "a URL that cannot be requested")
        try demand(data.temporaryFileName.isBareFileName, "a name that leaves its directory")
        if let path = data.recordedPath {
            try demand(path.utf8.first == UInt8(ascii: "/"), "a relative path")
            let components = path.utf8.split(separator: UInt8(ascii: "/")).map { String(decoding: $0, as: UTF8.self) }
            try demand(!components.contains(".."), "a path with a parent component")
        }
        let requested = RequestedRange.continuing(
            at: data.received.prefixEnd, validator: data.validator(), window: nil)
        try demand(requested.fields.firstInvalidField() == nil, "a request that cannot be sent")
    }
}
