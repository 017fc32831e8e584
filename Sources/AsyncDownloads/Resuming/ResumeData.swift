public import struct Foundation.Data
public import struct Foundation.URL

/// The resume data that URLSession on Apple platforms creates when a download task stops.
///
/// Resume data identifies the resource and the file that contains the received bytes. It comes from
/// `cancel(byProducingResumeData:)`, or from the `userInfo` of an error. With this type, the download continues without
/// URLSession, even from another URL. Resume data can be read on every platform.
///
/// ```swift
/// let resumeData = try ResumeData(contentsOf: savedFile)
/// print(resumeData.downloadURL.host() ?? "", resumeData.receivedByteCount)
/// let bytes = try resumeData.temporaryFile()
/// ```
///
/// All of Apple's formats are supported: XML and binary property lists, and keyed archives of them. Every value is
/// checked before it is used. However, resume data names the file whose bytes the download uses, so read it only from a
/// location to which no other user can write.
public struct ResumeData: Sendable, Hashable {
    /// The http or https URL that the bytes came from, as it was passed to the task.
    public let downloadURL: URL

    /// The number of bytes in the temporary file, starting with the first byte of the resource.
    public let receivedByteCount: Int64

    /// The server's ETag, byte for byte as received, even if it is weak (RFC 9110, 8.8.3).
    public let entityTag: String?

    /// The server's Last-Modified, byte for byte as received.
    public let lastModified: String?

    /// The range that the last of several requests asked for, such as `1024-`.
    ///
    /// Some systems recorded this range for a download that had been resumed before. The range doesn't affect the
    /// contents of the file.
    public let byteRange: String?

    /// The name of the file that contains the bytes, such as `CFNetworkDownload_TySS5B.tmp`.
    public let temporaryFileName: String

    /// The absolute path of the temporary file, which only the first version of the format contains.
    ///
    /// Later versions contain only ``temporaryFileName``.
    public let recordedPath: String?

    /// The version of the format; versions 1, 2, 4, and 5 are known.
    ///
    /// Later versions are read if the values that they share with the known versions have the same form.
    public let version: Int?

    /// A Boolean value that indicates whether a validator can prove that the server still has the same object.
    ///
    /// This requires a strong entity tag (RFC 9110, 8.8.1). Without one, the bytes can be used only if something else
    /// proves them, such as the checksum of the whole file.
    public var hasStrongValidator: Bool { validator() != nil }

    /// Creates resume data from its encoded form.
    ///
    /// - Throws: A ``DownloadError`` with the code ``DownloadError/Code/resumeDataUnusable``, which says what is wrong.
    ///   Values that aren't needed to find the bytes may be missing or malformed.
    public init(_ data: Data) throws(DownloadError) {
        try self.init(ResumeDictionary(data))
    }

    /// Creates resume data from the contents of a file.
    ///
    /// - Throws: The errors of ``init(_:)``, including the case that the URL doesn't refer to a regular file or the
    ///   file can't be read.
    public init(contentsOf file: URL) throws(DownloadError) {
        try self.init(Self.contents(of: file))
    }
}

extension ResumeData: CustomStringConvertible {
    /// A line that is fit for a log: no query of the URL, no path, and no validator.
    public var description: String {
        "\(receivedByteCount) bytes of \(downloadURL.redacted) in \(temporaryFileName)"
    }
}

extension ResumeData: CustomReflectable {
    /// A mirror without children, because the URL may contain secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
