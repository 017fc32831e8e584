/// The reason why a download restarted and discarded received bytes.
public struct RestartReason: Hashable, Sendable, CustomStringConvertible {
    /// The reason's name, which is stable across versions.
    public let name: String

    /// The reason's name, the same as ``name``.
    public var description: String { name }

    private init(_ name: String) { self.name = name }

    /// The server now has another representation: the validator or the length differs.
    public static let contentChanged = Self("contentChanged")
    /// The server sent the whole body although a range was requested and the validator is the same.
    public static let rangeIgnored = Self("rangeIgnored")
    /// The server sent no strong validator, so nothing proves that the bytes belong to the same representation.
    public static let noValidator = Self("noValidator")
    /// The server refused the range and didn't confirm the length.
    public static let rangeNotSatisfiable = Self("rangeNotSatisfiable")
    /// The content coding of the partial response differs from the coding of the received bytes.
    public static let contentCodingChanged = Self("contentCodingChanged")
    /// The server's partial responses had wrong offsets or lengths, so they couldn't be trusted: repeatedly or, in a
    /// background session, once.
    public static let invalidPartialResponse = Self("invalidPartialResponse")
    /// A response contained more bytes than its head announced, so none of its bytes are trusted.
    ///
    /// The bytes of earlier responses are kept, and the download continues from there.
    public static let excessBytes = Self("excessBytes")
    /// The bytes were received with other credentials, and the server sends different bytes for the current ones.
    ///
    /// Set ``DownloadRequest/account`` to identify the user of the credentials; the bytes of one account aren't
    /// compared.
    public static let credentialsChanged = Self("credentialsChanged")
    /// The file was combined from several responses, for example by ``ContentChangePolicy/verify``, and didn't have the
    /// expected digest.
    public static let digestMismatch = Self("digestMismatch")

    /// Memory pressure occurred while the download was paused, and ``MemoryPressurePolicy/discard`` discarded its
    /// bytes.
    public static let memoryPressure = Self("memoryPressure")

    /// The checkpoint is incomplete, filled with zeros, or edited.
    public static let checkpointCorrupt = Self("checkpointCorrupt")
    /// The checkpoint was written by a version of this package whose format this version can't read.
    public static let checkpointVersion = Self("checkpointVersion")
    /// The checkpoint belongs to another request.
    public static let checkpointMismatch = Self("checkpointMismatch")
    /// The partial file is missing, isn't the file that the checkpoint describes, or may have lost bytes when the machine
    /// restarted; or the system has lost the bytes of a background download.
    public static let partialMissing = Self("partialMissing")
    /// The partial file contains fewer bytes than the checkpoint claims.
    public static let partialTruncated = Self("partialTruncated")
    /// The checkpoint of the most recently received bytes couldn't be saved, so no later process can find them.
    public static let checkpointNotSaved = Self("checkpointNotSaved")
    /// The expected checksum differs from the one for which the bytes were downloaded.
    public static let checksumMismatch = Self("checksumMismatch")
}
