/// The description of a finished file in its extended attribute, which lets a later download use the file again.
///
/// A record is valid only while the file is unchanged: the recorded length, modification time, and inode number must be
/// equal to the file's. ``PartialStore/finishedFile(at:)`` makes all checks.
struct FinishedFileRecord: Sendable, Hashable {
    /// The name of the attribute.
    ///
    /// Only programs that may write to the file can set the attribute.
    static let attributeName = "user.async-downloads"

    /// The resource that the file contains.
    var resource: ResourceDigest
    /// The length of the file, in bytes.
    var length: Int64
    /// The modification time of the file, in nanoseconds since 1970.
    var modificationTime: Int64
    /// The strong validator of the representation, if it has one.
    var validator: Validator?
    /// The media type as received.
    var contentType: String?
    /// The digest of the session in which the file was written without a sync; nil if it was synced.
    var session: SessionDigest?

    /// A digest of the identifiers of the machine's boot and of the device.
    struct SessionDigest: Sendable, Hashable {
        static let byteCount = 8

        let bytes: [UInt8]

        /// Creates the digest of a session; nil if this build computes no digests.
        init?(_ session: String) {
            guard let digest = RunningDigest.sha256(of: Array(session.utf8)) else { return nil }
            bytes = Array(digest.prefix(Self.byteCount))
        }

        init(bytes: some Sequence<UInt8>) {
            self.bytes = Array(bytes)
        }
    }
}

extension FinishedFileRecord {
    /// Creates the record of a file that contains a representation.
    ///
    /// - Parameters:
    ///   - resource: The digest of the resource.
    ///   - representation: The representation.
    ///   - isProven: Whether the server has confirmed that all bytes belong to the validator.
    ///   - information: Information about the file.
    init(
        _ resource: ResourceDigest, _ representation: Representation?, isProven: Bool, _ information: FileInformation
    ) {
        let isWhole = representation?.contentCoding == nil && representation?.unverifiedFrom == nil
        let isConfirmed =
            isProven && representation?.cameFromDifferentURL == false && representation?.isImported == false
            && representation?.hasUnverifiedCredentials == false
        self.init(
            resource: resource, length: information.size, modificationTime: information.modificationTime,
            validator: isWhole && isConfirmed ? representation?.validator : nil,
            contentType: representation?.contentType)
    }
}
