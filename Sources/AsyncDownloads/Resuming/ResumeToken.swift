public import struct Foundation.URL

/// What another process, or another machine that has the partial file, needs to go on with a download.
///
/// A value to be stored or sent. It speaks of the partial file and does not hold it; where that is, is told relative to
/// a directory which both sides know by themselves, since absolute paths change with machines and with an app's
/// updates.
///
/// ```swift
/// let json = try JSONEncoder().encode(token)
/// // Somewhere else:
/// let token = try JSONDecoder().decode(ResumeToken.self, from: json)
/// let partialFile = token.partialFile(relativeTo: sharedDirectory)
/// ```
///
/// There are no credentials in it: neither in its headers nor in its URLs, whose user and password are refused. A
/// signed URL's query is part of the URL, though: keep a token where the URL itself might be kept. Whoever goes on with
/// it supplies credentials anew.
///
/// Encoded, it says which format it is of. This version writes and reads format 1.
public struct ResumeToken: Sendable, Hashable {
    /// The http or https URL as it was asked for.
    public let url: URL

    /// The URL that answered, after redirects.
    public let finalURL: URL?

    /// The strong validator byte for byte as received: an entity tag in its quotes, or a date (RFC 9110, 8.8).
    ///
    /// Without it only the checksum can prove that the bytes still belong to the object.
    public let validator: String?

    /// The complete length in bytes, where the server told it.
    public let totalByteCount: Int64?

    /// The bytes that the partial file holds: ascending, apart from each other, none empty.
    public var receivedRanges: [Range<Int64>] { received.ranges }

    /// The digest that the whole file must have.
    public let checksum: Checksum?

    /// The headers that are no secret (``DownloadRequest/nonsecretHeaders``).
    public let headers: HeaderFields

    /// Whether the bytes were received with headers that the token does not contain, such as `Authorization`.
    ///
    /// Such bytes may be of one user. A request without the same ``account`` continues them only after a part of them has
    /// been fetched again and is equal, or against a checksum.
    public let hasSecretHeaders: Bool

    /// The name that the finished file is to have, where it was chosen.
    public let destinationName: String?

    /// The name that stands for the resource in place of ``url``, where it has one (``DownloadRequest/identity``).
    public let identity: String?

    /// The name for whose credentials the bytes were received with (``DownloadRequest/account``).
    public let account: String?

    /// The directory of the partial file, relative to one that the reader knows; empty for that very one.
    public let partialDirectory: String

    /// The name of the partial file.
    public let partialName: String

    package let received: IntervalSet

    /// The bytes that the partial file holds, in number.
    public var receivedByteCount: Int64 { received.count }

    /// Where the partial file is.
    ///
    /// It never leaves `directory`, but for symbolic links that are there.
    public func partialFile(relativeTo directory: URL) -> URL {
        directory.appending(path: partialDirectory, directoryHint: .isDirectory)
            .appending(path: partialName, directoryHint: .notDirectory)
    }

    /// The request that goes on with the download where all its files are in their places.
    ///
    /// That is so in another process of the same machine, when `directory` is the destination's. Credentials have to be
    /// supplied anew, in ``DownloadRequest/headers``, and so does a URL that has expired: the token's ``identity`` then
    /// finds the bytes.
    ///
    /// ```swift
    /// let download = downloader.start(token.request(into: directory))
    /// ```
    public func request(into directory: URL) -> DownloadRequest {
        let destination: DownloadRequest.Destination =
            destinationName.map { .file(directory.appending(path: $0, directoryHint: .notDirectory)) }
            ?? .directory(directory)
        var request = DownloadRequest(
            from: url, at: destination, headers: headers, checksum: checksum, priority: .normal)
        request.nonsecretHeaders = headers.declaredNames
        request.identity = identity
        request.account = account
        return request
    }

    /// Creates a token of the values that its properties tell of.
    ///
    /// Ranges may come in any order; those that touch or overlap become one. Headers that are neither on the list of
    /// ``DownloadRequest/headers`` nor among `nonsecretHeaders` are left out.
    ///
    /// - Throws: A ``DownloadError`` with ``DownloadError/Code/resumeDataUnusable`` that says which value is impossible.
    public init(
        url: URL, finalURL: URL? = nil, validator: String? = nil, totalByteCount: Int64? = nil,
        receivedRanges: [Range<Int64>], checksum: Checksum? = nil, headers: HeaderFields = [:],
        nonsecretHeaders: Set<String> = [], hasSecretHeaders: Bool = false, destinationName: String? = nil,
        identity: String? = nil, account: String? = nil, partialDirectory: String = "", partialName: String
    ) throws(DownloadError) {
        guard receivedRanges.allSatisfy({ $0.lowerBound >= 0 }) else { throw .unusable("a range begins below 0") }
        var received = IntervalSet()
        for range in receivedRanges { received.insert(range) }
        try self.init(
            url: url, finalURL: finalURL, validator: validator, totalByteCount: totalByteCount, received: received,
            checksum: checksum, headers: headers, nonsecretHeaders: nonsecretHeaders,
            hasSecretHeaders: hasSecretHeaders, destinationName: destinationName, identity: identity, account: account,
            partialDirectory: partialDirectory, partialName: partialName)
    }

    package init(
        url: URL, finalURL: URL?, validator: String?, totalByteCount: Int64?, received: IntervalSet,
        checksum: Checksum?, headers: HeaderFields, nonsecretHeaders: Set<String>, hasSecretHeaders: Bool,
        destinationName: String?, identity: String?, account: String?, partialDirectory: String, partialName: String
    ) throws(DownloadError) {
        self.url = url
        self.finalURL = finalURL
        self.validator = validator
        self.totalByteCount = totalByteCount
        self.received = received
        self.checksum = checksum
        self.headers = CallerHeaders(headers, nonsecretNames: nonsecretHeaders).publicFields
        self.hasSecretHeaders = hasSecretHeaders
        self.destinationName = destinationName
        self.identity = identity
        self.account = account
        self.partialDirectory = partialDirectory
        self.partialName = partialName
        if let fault = validationError { throw .unusable(fault) }
    }
}

extension ResumeToken: CustomStringConvertible {
    /// One line fit for a log: no query of the URL, no path, no validator.
    public var description: String {
        let total = totalByteCount.map { " of \($0)" } ?? ""
        return "\(receivedByteCount)\(total) bytes of \(url.redacted) in \(partialName)"
    }
}

extension ResumeToken: CustomReflectable {
    /// A mirror without children, since the URLs may hold secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
