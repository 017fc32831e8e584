public import struct Foundation.URL

/// A token with which another process, or another machine that has the partial file, continues a download.
///
/// A token is a value to store or to send. It describes the partial file but doesn't contain it. The path of the
/// partial file is relative to a directory that both sides know, because absolute paths differ between machines and
/// change with an app's updates.
///
/// ```swift
/// if let token = try await download.resumeToken {
///     try JSONEncoder().encode(token).write(to: savedFile)
/// }
/// // Somewhere else:
/// let token = try JSONDecoder().decode(ResumeToken.self, from: Data(contentsOf: savedFile))
/// let partialFile = token.partialFile(relativeTo: directory)
/// ```
///
/// A token contains no credentials, neither in its headers nor in its URLs: a URL with a user or a password is refused.
/// However, the query of a signed URL is part of the URL, so store a token only where the URL itself may be stored. The
/// process that continues the download supplies its own credentials.
///
/// The encoded form contains the version of its format. This version of the package writes and reads format 1.
public struct ResumeToken: Sendable, Hashable {
    /// The http or https URL that was requested.
    public let url: URL

    /// The URL that the response came from, after redirects.
    public let finalURL: URL?

    /// The strong validator, byte for byte as received: an entity tag in quotation marks, or a date (RFC 9110, 8.8).
    ///
    /// Without a validator, only the checksum can prove that the bytes still belong to the object.
    public let validator: String?

    /// The length of the whole file in bytes, if the server reported it.
    public let totalByteCount: Int64?

    /// The ranges of bytes in the partial file, in ascending order; they aren't empty, and they don't touch.
    ///
    /// If the partial file has more than 1,024 ranges, these are the longest ones; the other bytes are received again.
    public var receivedRanges: [Range<Int64>] { received.ranges }

    /// The expected digest of the whole file.
    public let checksum: Checksum?

    /// The headers that aren't secret (``DownloadRequest/nonsecretHeaders``).
    public let headers: HeaderFields

    /// A Boolean value that indicates whether the bytes were received with secret headers, such as `Authorization`.
    ///
    /// The token doesn't contain these headers. Such bytes may belong to one user, so a request without the same
    /// ``account`` continues them only after a part of them has been fetched again and is equal, or with a checksum.
    public let hasSecretHeaders: Bool

    /// The name of the finished file, if it has been chosen.
    public let destinationName: String?

    /// The name that identifies the resource in place of ``url``, if any (``DownloadRequest/identity``).
    public let identity: String?

    /// The name of the user with whose credentials the bytes were received, if any (``DownloadRequest/account``).
    public let account: String?

    /// The directory of the partial file, relative to a directory that the reader knows.
    ///
    /// The value is empty if the partial file is in that directory itself.
    public let partialDirectory: String

    /// The name of the partial file.
    public let partialName: String

    private(set) var received: IntervalSet

    /// The maximum number of ranges in a token, which limits its size and the time to use it.
    private static let maximumRangeCount = 1_024

    /// The number of bytes in ``receivedRanges``.
    public var receivedByteCount: Int64 { received.count }

    /// Returns the URL of the partial file, which is relative to `directory`.
    ///
    /// The file is always below `directory`, unless a symbolic link there leads elsewhere.
    public func partialFile(relativeTo directory: URL) -> URL {
        directory.appending(path: partialDirectory, directoryHint: .isDirectory)
            .appending(path: partialName, directoryHint: .notDirectory)
    }

    /// Returns the request that continues the download, if all its files are in their original places.
    ///
    /// This is the case in another process on the same machine if `directory` is the directory of the destination.
    /// Credentials have to be supplied again in ``DownloadRequest/headers``. A URL that has expired has to be replaced
    /// as well; the token's ``identity`` then finds the bytes.
    ///
    /// ```swift
    /// let token = try JSONDecoder().decode(ResumeToken.self, from: Data(contentsOf: savedFile))
    /// let download = downloader.start(token.request(into: directory))
    /// ```
    public func request(into directory: URL) -> DownloadRequest {
        let destination: DownloadRequest.Destination =
            destinationName.map { .file(directory.appending(path: $0, directoryHint: .notDirectory)) }
            ?? .directory(directory)
        var request = DownloadRequest(
            from: url, to: destination, headers: headers, checksum: checksum, priority: .normal)
        request.nonsecretHeaders = headers.declaredNames
        request.identity = identity
        request.account = account
        return request
    }

    /// Creates a token from the values of its properties.
    ///
    /// The ranges may be in any order; adjacent and overlapping ranges are merged. Headers that are neither nonsecret
    /// by default (``DownloadRequest/headers``) nor named in `nonsecretHeaders` are omitted.
    ///
    /// - Throws: A ``DownloadError`` with the code ``DownloadError/Code/resumeDataUnusable``, which says which value is
    ///   impossible.
    public init(
        url: URL, finalURL: URL? = nil, validator: String? = nil, totalByteCount: Int64? = nil,
        receivedRanges: [Range<Int64>], checksum: Checksum? = nil, headers: HeaderFields = [:],
        nonsecretHeaders: Set<String> = [], hasSecretHeaders: Bool = false, destinationName: String? = nil,
        identity: String? = nil, account: String? = nil, partialDirectory: String = "", partialName: String
    ) throws(DownloadError) {
        guard receivedRanges.allSatisfy({ $0.lowerBound >= 0 }) else { throw .unusable("a range starts below 0") }
        try self.init(
            url: url, finalURL: finalURL, validator: validator, totalByteCount: totalByteCount,
            received: IntervalSet(receivedRanges), checksum: checksum, headers: headers,
            nonsecretHeaders: nonsecretHeaders, hasSecretHeaders: hasSecretHeaders, destinationName: destinationName,
            identity: identity, account: account, partialDirectory: partialDirectory, partialName: partialName)
    }

    init(
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
        // The ranges are reduced after the validation, which checks all of them.
        self.received.keepLongest(Self.maximumRangeCount)
    }
}

extension ResumeToken: CustomStringConvertible {
    /// A line that is fit for a log: no query of the URL, no path, and no validator.
    public var description: String {
        let total = totalByteCount.map { " of \($0)" } ?? ""
        return "\(receivedByteCount)\(total) bytes of \(url.redacted) in \(partialName)"
    }
}

extension ResumeToken: CustomReflectable {
    /// A mirror without children, because the URLs may contain secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
