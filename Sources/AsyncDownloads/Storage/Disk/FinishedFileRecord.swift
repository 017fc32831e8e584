/// What a finished file says of itself in an extended attribute, so that a later download can use it again.
///
/// A record describes a file only as long as nothing has changed it: the length, the modification time, and the inode
/// number have to be those of the file. ``PartialStore/finishedFile(at:)`` makes all checks.
struct FinishedFileRecord: Sendable, Hashable {
    /// The name of the attribute.
    ///
    /// Only programs of the file's owner can set it.
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

    /// A digest of the boot of the machine and of the device.
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
    /// Creates the record of a file with the bytes of a representation.
    ///
    /// - Parameter isProven: Whether the server has confirmed that all bytes belong to the validator.
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
