internal import Foundation

extension ResumeToken: Codable {
    /// The keys of the encoded form, which must not change within one version of the format.
    private enum CodingKeys: String, CodingKey {
        case format, url, finalURL, validator, totalByteCount, receivedRanges, checksum, headers, hasSecretHeaders
        case destinationName, identity, account, partialDirectory, partialName
    }

    private static let format = 1

    /// Decodes a token and validates its values.
    ///
    /// - Throws: A ``DownloadError`` with the code ``DownloadError/Code/resumeDataUnusable`` if the version of the
    ///   format is unknown or a value is impossible; a `DecodingError` if the encoded value isn't a token.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let format = try values.decode(Int.self, forKey: .format)
        guard format == Self.format else {
            throw DownloadError.unusable("the token has format \(format), but only format \(Self.format) is supported")
        }
        var headers = HeaderFields()
        for pair in try values.decodeIfPresent([[String]].self, forKey: .headers) ?? [] {
            guard pair.count == 2 else { throw DownloadError.unusable("a header is not a pair of name and value") }
            headers.append(pair[1], for: pair[0])
        }
        let checksum = try values.decodeIfPresent(String.self, forKey: .checksum)
        let finalURL = try values.decodeIfPresent(String.self, forKey: .finalURL)
        try self.init(
            url: Self.url(values.decode(String.self, forKey: .url)),
            finalURL: finalURL.map(Self.url),
            validator: values.decodeIfPresent(String.self, forKey: .validator),
            totalByteCount: values.decodeIfPresent(Int64.self, forKey: .totalByteCount),
            received: values.decode(IntervalSet.self, forKey: .receivedRanges),
            checksum: checksum.map(Self.checksum),
            headers: headers,
            nonsecretHeaders: headers.declaredNames,
            hasSecretHeaders: values.decodeIfPresent(Bool.self, forKey: .hasSecretHeaders) ?? false,
            destinationName: values.decodeIfPresent(String.self, forKey: .destinationName),
            identity: values.decodeIfPresent(String.self, forKey: .identity),
            account: values.decodeIfPresent(String.self, forKey: .account),
            partialDirectory: values.decodeIfPresent(String.self, forKey: .partialDirectory) ?? "",
            partialName: values.decode(String.self, forKey: .partialName))
    }

    /// Encodes the token with the version of its format.
    ///
    /// A range is encoded as the position of its first byte and the position after its last byte, the checksum as
    /// `algorithm=digits`, and a header as its name and its value.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(Self.format, forKey: .format)
        try values.encode(url.absoluteString, forKey: .url)
        try values.encodeIfPresent(finalURL?.absoluteString, forKey: .finalURL)
        try values.encodeIfPresent(validator, forKey: .validator)
        try values.encodeIfPresent(totalByteCount, forKey: .totalByteCount)
        try values.encode(received, forKey: .receivedRanges)
        try values.encodeIfPresent(checksum?.text, forKey: .checksum)
        if !headers.isEmpty { try values.encode(headers.map { [$0.name, $0.value] }, forKey: .headers) }
        if hasSecretHeaders { try values.encode(true, forKey: .hasSecretHeaders) }
        try values.encodeIfPresent(destinationName, forKey: .destinationName)
        try values.encodeIfPresent(identity, forKey: .identity)
        try values.encodeIfPresent(account, forKey: .account)
        if !partialDirectory.isEmpty { try values.encode(partialDirectory, forKey: .partialDirectory) }
        try values.encode(partialName, forKey: .partialName)
    }

    private static func url(_ text: String) throws(DownloadError) -> URL {
        guard let url = URL(strict: text) else {
            throw .unusable("a URL is malformed")
        }
        return url
    }

    private static func checksum(_ text: String) throws(DownloadError) -> Checksum {
        guard let checksum = Checksum(text) else { throw .unusable("the checksum is malformed") }
        return checksum
    }
}
