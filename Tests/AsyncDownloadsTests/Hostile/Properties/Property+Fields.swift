internal import Foundation

@testable import AsyncDownloads

/// The properties of header fields: an accepted value is consistent, and parsing its canonical text gives it again.
extension Property {
    private static let now = HTTPDate(secondsSinceEpoch: 1_800_000_000)

    static func contentRange(_ text: String) throws {
        switch ContentRange(text) {
        case .satisfied(let range, let length):
            try demand(range.lowerBound >= 0, "a negative position")
            try demand(range.upperBound < length ?? .max, "positions beyond the end")
            let requested = ByteRange(first: range.lowerBound, last: range.upperBound)
            try demand(
                requested?.length == range.upperBound - range.lowerBound + 1, "a length that differs from the positions"
            )
            let written = "bytes \(range.lowerBound)-\(range.upperBound)/\(length.map(String.init) ?? "*")"
            try demand(ContentRange(written) == ContentRange(text), written)
        case .unsatisfied(let length):
            try demand(length >= 0, "a negative length")
            try demand(ContentRange("bytes */\(length)") == ContentRange(text), "\(length)")
        case nil: break
        }
    }

    static func contentLength(_ text: String) throws {
        guard case .value(let length) = ContentLength(["Content-Length": text]) else { return }
        try demand(0...FieldScanner.maximumNumber ~= length, "a length out of bounds")
        try demand(ContentLength(["Content-Length": "\(length)"]) == .value(length), "\(length)")
    }

    static func contentCoding(_ text: String) throws {
        guard let coding = ContentCoding(["Content-Encoding": text]) else { return }
        try demand(!coding.description.isEmpty && coding.description != "identity", "an empty or identity coding")
        try demand(ContentCoding(["Content-Encoding": coding.description]) == coding, coding.description)
    }

    static func retryAfter(_ text: String) throws {
        guard let value = RetryAfter(text, now: now) else { return }
        try demand(.zero...(.seconds(1 << 31)) ~= value.delay(now: now), "a delay out of bounds")
        let written =
            switch value {
            case .seconds(let seconds): "\(seconds)"
            case .date(let date): date.headerValue
            }
        try demand(RetryAfter(written) == value, written)
    }

    static func httpDate(_ text: String) throws {
        guard let date = HTTPDate(text, now: now) else { return }
        try demand(HTTPDate(date.headerValue) == date, date.headerValue)
        try demand(HTTPDate(secondsSinceEpoch: date.secondsSinceEpoch) == date, "beyond the calendar")
    }

    static func entityTag(_ text: String) throws {
        guard let tag = EntityTag(text) else { return }
        try demand(EntityTag(tag.rawValue) == tag, "a different tag when it is sent back")
        try demand(tag.isWeak == tag.rawValue.hasPrefix("W/"), "a weak tag without its mark")
        try demand(tag.stronglyMatches(tag) == !tag.isWeak, "a comparison that is not the strong one")
    }

    static func validator(_ text: String) throws {
        let headers: HeaderFields = ["ETag": text, "Last-Modified": text, "Date": now.headerValue]
        for fields in [headers, headers.without("ETag")] {
            guard let validator = Validator.strong(in: fields, receivedAt: now) else { continue }
            try demand(validator.matches(fields, receivedAt: now) == .same, "different from itself")
            let sent = RequestedRange.continuing(at: 5, validator: validator, window: 10).fields
            try demand(sent.firstInvalidField() == nil, "a request that cannot be sent")
            let coded = try JSONEncoder().encode([validator])
            try demand(
                try JSONDecoder().decode([Validator].self, from: coded) == [validator],
                "a different validator after reading back")
        }
    }

    static func reprDigest(_ text: String) throws {
        guard let digest = ReprDigest(text) else { return }
        try demand(digest.checksums.allSatisfy(\.isWellFormed), "digests of another length")
        try demand(!digest.contradicts(digest.checksums), "a digest that contradicts itself")
        let members = digest.checksums.map { checksum in
            "\(checksum.algorithm.rawValue)=:\(Data(hex: checksum.hex).base64EncodedString()):"
        }
        guard !members.isEmpty else { return }
        let written = members.joined(separator: ", ")
        try demand(ReprDigest(written)?.checksums == digest.checksums, written)
    }
}

extension HeaderFields {
    fileprivate func without(_ name: String) -> Self {
        var fields = self
        fields[name] = nil
        return fields
    }
}

extension Data {
    fileprivate init(hex: String) {
        let digits = hex.utf8.compactMap(\.hexDigitValue)
        self.init(stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
    }
}
