/// Why bytes that had been downloaded were given up and the download began again at its first byte.
public struct RestartReason: Hashable, Sendable, CustomStringConvertible {
    /// The reason's name, stable across versions.
    public let name: String

    /// The same as ``name``.
    public var description: String { name }

    private init(_ name: String) { self.name = name }

    // What the server did.

    /// The server has another representation now: its validator or its length differs.
    public static let contentChanged = Self("contentChanged")
    /// The server sent the whole body although a range was asked for and the validator is the same.
    public static let rangeIgnored = Self("rangeIgnored")
    /// The server gave no strong validator, so that nothing proves the bytes to be of the same representation.
    public static let noValidator = Self("noValidator")
    /// The server refused the range and did not confirm the length.
    public static let rangeNotSatisfiable = Self("rangeNotSatisfiable")
    /// The partial response had another content coding than the bytes at hand.
    public static let contentCodingChanged = Self("contentCodingChanged")
    /// The server's partial responses could not be trusted: wrong offsets or lengths, time and again.
    public static let invalidPartialResponse = Self("invalidPartialResponse")
    /// A response brought more bytes than its head promised, so that none of them is proven.
    ///
    /// What earlier responses brought is kept: the download goes on from there.
    public static let excessBytes = Self("excessBytes")
    /// The bytes were received with other credentials, and what the server sends for the present ones is different.
    ///
    /// ``DownloadRequest/account`` says whose credentials they are, and spares the comparison.
    public static let credentialsChanged = Self("credentialsChanged")
    /// Bytes under different validators, kept by ``ContentChangePolicy/verify``, did not have the expected digest.
    public static let digestMismatch = Self("digestMismatch")

    /// Memory was short while the download was paused, and ``MemoryPressurePolicy/discard`` gives up bytes then.
    public static let memoryPressure = Self("memoryPressure")

    // What was found on disk.

    /// The checkpoint is torn, zero-filled or edited.
    public static let checkpointCorrupt = Self("checkpointCorrupt")
    /// The checkpoint was written by a version of this package that this one cannot read.
    public static let checkpointVersion = Self("checkpointVersion")
    /// The checkpoint speaks of another request.
    public static let checkpointMismatch = Self("checkpointMismatch")
    /// The partial file is missing, or it is not the file that the checkpoint speaks of.
    public static let partialMissing = Self("partialMissing")
    /// The partial file holds fewer bytes than the checkpoint claims.
    public static let partialTruncated = Self("partialTruncated")
    /// The disk refused to save what was received last, so that nobody who looks later will know of it.
    public static let checkpointNotSaved = Self("checkpointNotSaved")
    /// The expected checksum differs from the one that the bytes were downloaded for.
    public static let checksumMismatch = Self("checksumMismatch")
}
