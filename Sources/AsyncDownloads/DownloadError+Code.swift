extension DownloadError {
    /// What happened, as a closed vocabulary that may grow: switch on it with a default.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, stable across versions: what tools print and logs are searched for.
        public let name: String

        /// The same as ``name``.
        public var description: String { name }

        /// Whether such an error may pass by itself, so that a later attempt is worth its cost.
        let isTransient: Bool

        private init(_ name: String, transient: Bool = false) {
            self.name = name
            self.isTransient = transient
        }
    }
}

extension DownloadError.Code {
    // What the caller asked for.

    /// The request cannot be sent: its URL, headers, destination or checksum is unusable.
    public static let invalidRequest = Self("invalidRequest")
    /// The caller, its task or its batch was cancelled; the bytes are kept unless they were discarded on purpose.
    public static let cancelled = Self("cancelled")
    /// A newer request of the same resource took over, by ``DuplicatePolicy/cancelExisting``.
    public static let superseded = Self("superseded")
    /// The resource is being downloaded already, and the policy was ``DuplicatePolicy/reject``.
    public static let duplicate = Self("duplicate")
    /// Another running download of this downloader writes the same destination.
    public static let destinationInUse = Self("destinationInUse")
    /// The downloader was shut down.
    public static let shutDown = Self("shutDown")
    /// The body is, or claims to be, longer than ``DownloadRequest/maximumByteCount``.
    public static let bodyTooLarge = Self("bodyTooLarge")
    /// The file's digest is not the expected one; the destination was not touched and the bytes were removed.
    public static let checksumMismatch = Self("checksumMismatch")
    /// Resume data, or a token, says nothing that a download could go on from, or speaks of a file that is not there.
    public static let resumeDataUnusable = Self("resumeDataUnusable")
    /// What was asked for needs something that this build does not carry.
    public static let unsupported = Self("unsupported")

    /// A fresh URL was needed, and ``DownloadRequest/refreshURL`` failed to give one.
    public static let urlRefreshFailed = Self("urlRefreshFailed", transient: true)

    // The network.

    /// The host's name could not be resolved.
    public static let hostNotFound = Self("hostNotFound", transient: true)
    /// The connection was refused or could not be made.
    public static let cannotConnect = Self("cannotConnect", transient: true)
    /// The connection ended before the response did.
    public static let connectionLost = Self("connectionLost", transient: true)
    /// No byte arrived for as long as ``DownloadRequest/idleTimeout``.
    public static let timedOut = Self("timedOut", transient: true)
    /// The whole download, retries included, took longer than ``DownloadRequest/deadline``.
    public static let deadlineExceeded = Self("deadlineExceeded")
    /// TLS could not be established, or the certificate is not trusted.
    public static let secureConnectionFailed = Self("secureConnectionFailed")

    // The server's answer.

    /// The server answered with a status that is no success.
    public static let httpStatus = Self("httpStatus")
    /// The answer breaks the protocol, so that its bytes cannot be trusted.
    public static let malformedResponse = Self("malformedResponse")
    /// The resource kept changing while it was being downloaded.
    public static let contentChanged = Self("contentChanged")
    /// More redirects than allowed, or a loop.
    public static let tooManyRedirects = Self("tooManyRedirects")
    /// A redirect leads where this package does not go: another scheme, or from https to http.
    public static let redirectRefused = Self("redirectRefused")

    // The disk.

    /// There is no space for the file, or a quota or size limit is reached.
    public static let diskFull = Self("diskFull")
    /// The system does not permit to write there.
    public static let permissionDenied = Self("permissionDenied")
    /// The destination exists and is no regular file, or its directory does not exist.
    public static let destinationUnusable = Self("destinationUnusable")
    /// Another process is downloading into the same partial file.
    public static let partialInUse = Self("partialInUse", transient: true)
    /// The process has no descriptors left.
    public static let tooManyOpenFiles = Self("tooManyOpenFiles", transient: true)
    /// Reading or writing failed for another reason.
    public static let storageFailure = Self("storageFailure")
}
