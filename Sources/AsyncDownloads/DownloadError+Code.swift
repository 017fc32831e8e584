extension DownloadError {
    /// The kind of a download error.
    ///
    /// Later versions may add codes, so include a default case when you switch on a code.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, which is stable across versions and suitable for output and for searching logs.
        public let name: String

        /// The code's name, the same as ``name``.
        public var description: String { name }

        /// Whether the cause may be temporary, so that a later attempt may succeed.
        let isTransient: Bool

        private init(_ name: String, transient: Bool = false) {
            self.name = name
            self.isTransient = transient
        }
    }
}

extension DownloadError.Code {
    // Causes in the request or in the use of the handle.

    /// The request can't be sent because its URL, headers, destination, or checksum is unusable.
    public static let invalidRequest = Self("invalidRequest")
    /// The download, its task, or its batch was canceled; the bytes are kept unless they were discarded explicitly.
    public static let cancelled = Self("cancelled")
    /// A newer request for the same resource replaced this one, because of ``DuplicatePolicy/cancelExisting``.
    public static let superseded = Self("superseded")
    /// The resource is already being downloaded, and the policy is ``DuplicatePolicy/reject``.
    public static let duplicate = Self("duplicate")
    /// Another running download of this downloader writes to the same destination.
    public static let destinationInUse = Self("destinationInUse")
    /// The downloader was shut down.
    public static let shutDown = Self("shutDown")
    /// The length of the body, as stated by the server or as received, exceeds ``DownloadRequest/maximumByteCount``.
    public static let bodyTooLarge = Self("bodyTooLarge")
    /// The file doesn't have the length of ``DownloadRequest/expectedByteCount``.
    ///
    /// If the server states the length, the error is reported before any byte of the body is accepted.
    public static let unexpectedByteCount = Self("unexpectedByteCount")
    /// The file doesn't have the expected digest; the destination is unchanged, and the bytes were removed.
    public static let checksumMismatch = Self("checksumMismatch")
    /// The resume data or token doesn't describe bytes that can be continued, or its file is missing or unusable.
    public static let resumeDataUnusable = Self("resumeDataUnusable")
    /// The file or text with the trust roots can't be read or contains no valid certificate.
    public static let trustRootsUnusable = Self("trustRootsUnusable")
    /// A client's certificate or key can't be read, or isn't valid.
    public static let clientIdentityUnusable = Self("clientIdentityUnusable")
    /// The request needs a feature that this build doesn't include or the chosen engine doesn't have.
    public static let unsupported = Self("unsupported")

    /// A fresh URL was needed, and ``DownloadRequest/refreshURL`` failed to provide one.
    public static let urlRefreshFailed = Self("urlRefreshFailed", transient: true)

    /// ``DownloadRequest/authorize`` failed to provide header fields.
    public static let authorizationFailed = Self("authorizationFailed", transient: true)

    // Causes in the network.

    /// The name of the host couldn't be resolved.
    public static let hostNotFound = Self("hostNotFound", transient: true)
    /// The connection was refused or couldn't be established.
    public static let cannotConnect = Self("cannotConnect", transient: true)
    /// The connection ended before the response was complete.
    public static let connectionLost = Self("connectionLost", transient: true)
    /// No byte arrived for the duration of ``DownloadRequest/idleTimeout``.
    public static let timedOut = Self("timedOut", transient: true)
    /// The whole download, including retries, took longer than ``DownloadRequest/deadline``.
    public static let deadlineExceeded = Self("deadlineExceeded")
    /// TLS couldn't be established, or the certificate isn't trusted.
    public static let secureConnectionFailed = Self("secureConnectionFailed")
    /// The proxy refused to connect to the server or violated its protocol.
    ///
    /// The error is retryable if the proxy couldn't reach the server or closed the connection. If the proxy itself
    /// can't be reached, the code is ``cannotConnect``.
    public static let proxyFailed = Self("proxyFailed")

    /// The device has no network connection.
    ///
    /// A download whose ``NetworkAccess/whenUnavailable`` is ``NetworkAccess/WhenUnavailable/wait`` waits instead.
    public static let notConnected = Self("notConnected", transient: true)
    /// A network is available, but its use isn't permitted by ``DownloadRequest/networkAccess``, the settings of the
    /// session, the user, or the carrier.
    public static let networkNotPermitted = Self("networkNotPermitted")

    // Causes in the server's response.

    /// The server responded with a status code that doesn't indicate success.
    public static let httpStatus = Self("httpStatus")
    /// The response violates the protocol, so its bytes can't be trusted.
    public static let malformedResponse = Self("malformedResponse")
    /// The resource kept changing while it was being downloaded.
    public static let contentChanged = Self("contentChanged")
    /// The server sent more redirects than permitted, or the redirects formed a loop.
    public static let tooManyRedirects = Self("tooManyRedirects")
    /// A redirect isn't permitted: it leads to a scheme other than http or https, from https to http, or to a URL with
    /// credentials; or ``DownloadRequest/shouldFollowRedirect`` refused it.
    public static let redirectRefused = Self("redirectRefused")

    /// The media type of the response isn't one of ``DownloadRequest/acceptedMediaTypes``.
    public static let unacceptableMediaType = Self("unacceptableMediaType")
    /// The response is a web page, such as a login page, where another kind of file was expected.
    ///
    /// ``DownloadRequest/acceptedMediaTypes`` says when a web page is refused. The error is retryable if the page
    /// replaces a file that was already received in whole or in part, because the network may require a login at
    /// present.
    public static let unexpectedHTML = Self("unexpectedHTML")
    /// The closure ``DownloadRequest/validateResponse`` threw an error, which is the ``DownloadError/underlyingError``.
    public static let responseRefused = Self("responseRefused")

    // Causes in the storage.

    /// The volume doesn't have enough space for the file, or a quota or size limit was reached.
    public static let diskFull = Self("diskFull")
    /// The system doesn't permit writing to this location.
    public static let permissionDenied = Self("permissionDenied")
    /// The destination exists and isn't a regular file, or its directory doesn't exist.
    public static let destinationUnusable = Self("destinationUnusable")
    /// A file exists at the destination, and the policy is ``ExistingFilePolicy/fail``.
    public static let destinationExists = Self("destinationExists")
    /// Another process or another downloader is writing the same partial file.
    public static let partialInUse = Self("partialInUse", transient: true)
    /// No file descriptors are available.
    public static let tooManyOpenFiles = Self("tooManyOpenFiles", transient: true)
    /// Reading or writing failed for another reason.
    public static let storageFailure = Self("storageFailure")

    // Causes in a background session.

    /// The journal of the background session exists but can't be read.
    ///
    /// The error is retryable if the device may not have been unlocked since it started.
    public static let journalUnreadable = Self("journalUnreadable")
    /// Another downloader uses a background session with the same identifier.
    public static let sessionInUse = Self("sessionInUse")
    /// The system lost the download's task more than once.
    public static let taskLost = Self("taskLost", transient: true)
    /// Background activity is turned off for the app, so the system stopped the download.
    public static let backgroundNotPermitted = Self("backgroundNotPermitted")
    /// The system stopped the download because it didn't have enough resources.
    public static let systemResourcesExhausted = Self("systemResourcesExhausted", transient: true)
}
