public import struct Foundation.Data
public import struct Foundation.URL

/// What URLSession on Apple's systems hands out when a download task stops: where its bytes are, and of what.
///
/// It comes from `cancel(byProducingResumeData:)`, or with an error's `userInfo`. Read here, the download goes on
/// without URLSession, also from another URL; it can be read on every system.
///
/// ```swift
/// let resumeData = try ResumeData(contentsOf: savedFile)
/// print(resumeData.downloadURL.host() ?? "", resumeData.receivedByteCount)
/// let bytes = try resumeData.temporaryFile()
/// ```
///
/// All of Apple's forms are understood: XML and binary property lists, and keyed archives of them. Nothing in it is
/// trusted before it was checked, but it does say which file is taken for the download's bytes: read only what was
/// kept where nobody else can write.
public struct ResumeData: Sendable, Hashable {
    /// The http or https URL that the bytes came from, as the task was given it.
    public let downloadURL: URL

    /// How many bytes the temporary file holds, from the first on.
    public let receivedByteCount: Int64

    /// The server's ETag, byte for byte as received, weak ones included (RFC 9110, 8.8.3).
    public let entityTag: String?

    /// The server's Last-Modified, byte for byte as received.
    public let lastModified: String?

    /// The range that the last of several requests had asked for, such as `1024-`.
    ///
    /// Some systems wrote it where a download had been resumed before. It does not change what the file holds.
    public let byteRange: String?

    /// The name of the file that holds the bytes, such as `CFNetworkDownload_TySS5B.tmp`.
    public let temporaryFileName: String

    /// Where that file was, as an absolute path; the first version of the format has it, later ones have the name alone.
    public let recordedPath: String?

    /// The version of the format: 1, 2, 4 and 5 are known.
    ///
    /// Later ones are read as far as they say the same things.
    public let version: Int?

    /// Whether it can be proven, without a digest, that the server still has the object which the bytes are of.
    ///
    /// That takes a strong entity tag (RFC 9110, 8.8.1). Without one the bytes are of use only where something else
    /// vouches for them, such as the whole file's checksum.
    public var hasStrongValidator: Bool { validator() != nil }

    /// Reads resume data.
    ///
    /// - Throws: A ``DownloadError`` with ``DownloadError/Code/resumeDataUnusable``, which says what is wrong. Missing or
    ///   odd values of what is not needed to find the bytes are no error.
    public init(_ data: Data) throws(DownloadError) {
        try self.init(ResumeDictionary(data))
    }

    /// Reads resume data from a file.
    ///
    /// - Throws: As ``init(_:)`` does, also where the file is none or cannot be read.
    public init(contentsOf file: URL) throws(DownloadError) {
        try self.init(Self.contents(of: file))
    }
}

extension ResumeData: CustomStringConvertible {
    /// One line fit for a log: no query of the URL, no path, no validator.
    public var description: String {
        "\(receivedByteCount) bytes of \(downloadURL.redacted) in \(temporaryFileName)"
    }
}

extension ResumeData: CustomReflectable {
    /// A mirror without children, since the URL may hold secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
