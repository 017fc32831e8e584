/// The conditions under which a request accepts a response, before a byte of its body counts.
extension DownloadRequest {
    /// The media types that are accepted, such as `application/zip` or `image/*`; `nil` accepts any.
    ///
    /// A response with another type fails with ``DownloadError/Code/unacceptableMediaType``, or with
    /// ``DownloadError/Code/unexpectedHTML`` if it is a web page. Parameters of the response's type are ignored, and a
    /// response without a type counts as `application/octet-stream`.
    ///
    /// If the value is `nil`, one response is refused nevertheless: a web page (`text/html` or `application/xhtml+xml`)
    /// where the path of ``url``, or the name of the file at the destination, has a well-known extension of another kind
    /// of file, such as `zip`, `jpg`, `mp4`, `pdf`, or `safetensors`. It is accepted if
    ///
    /// - one of these names has an extension of a web page or of a script, such as `html` or `php`,
    /// - the Accept header in ``headers`` names the type of the page, or
    /// - the received bytes or the file at the destination have been a web page.
    ///
    /// Names without an extension, and extensions of text such as `json` or `csv`, promise nothing. To download web pages
    /// under any name, include `text/html`.
    ///
    /// Each download has its own condition: a response that it refuses ends this download only, with nothing written, and
    /// others that share its transfer continue. The condition is checked once for each object, and not for a file that is
    /// used again (``ExistingFilePolicy``). A download in a background session refuses the request with
    /// ``DownloadError/Code/unsupported`` if the property is set. The property isn't recorded with an unfinished file.
    public var acceptedMediaTypes: [String]? {
        get { options.acceptedMediaTypes }
        set { options.acceptedMediaTypes = newValue }
    }

    /// A closure that refuses a response by throwing an error; `nil` refuses none.
    ///
    /// ```swift
    /// struct NotSigned: Error {}
    ///
    /// request.validateResponse = { head in
    ///     guard head.headers["X-Signature"] != nil else { throw NotSigned() }
    /// }
    /// ```
    ///
    /// The error arrives as the ``DownloadError/underlyingError`` of a ``DownloadError`` with the code
    /// ``DownloadError/Code/responseRefused``. The closure is called in a task of its own, once for each object: with the
    /// head of the first response with its bytes, whose status code is 200, 203, or 206. It is called after the other conditions of the request,
    /// and not for redirects, refusals of the server, retries that continue or repeat the same object (recognized by its
    /// strong validator), or a file that is used again. A download that joins a running transfer is asked about the
    /// response that the transfer has accepted. The body of the response is held back, and the connection kept, until the
    /// closure of one of the downloads that share the transfer has accepted the response; the idle timeout doesn't count this
    /// time, but the ``deadline`` does. A download gets no file before its own closure has returned. The task is canceled when
    /// the download ends.
    ///
    /// See ``acceptedMediaTypes`` for what follows from a refusal. Requests are equal if one is a copy of the other in this
    /// respect: closures aren't compared.
    public var validateResponse: (@Sendable (ResponseHead) async throws -> Void)? {
        get { options.responseValidation?.body }
        set { options.responseValidation = newValue.map { ResponseValidation($0) } }
    }

    /// The length that the file must have in bytes; `nil` for any length.
    ///
    /// If the server states another length, the download fails with ``DownloadError/Code/unexpectedByteCount`` before a byte
    /// of the body counts. A body without a stated length is received up to this length, and must end there. Until the server has stated the length, progress
    /// reports this one, and the space on the disk is checked for it before the request.
    ///
    /// Each download has its own expectation. A file of another length at the destination isn't used again. A download in
    /// a background session refuses the request with ``DownloadError/Code/unsupported`` if the property is set, and has
    /// ``BackgroundTaskOptions/expectedByteCount`` instead. The property isn't recorded with an unfinished file.
    public var expectedByteCount: Int64? {
        get { options.expectedByteCount }
        set { options.expectedByteCount = newValue }
    }

    /// The closure of ``validateResponse``, with its identity.
    var responseValidation: ResponseValidation? { options.responseValidation }
}

/// A closure that validates responses.
struct ResponseValidation: Sendable, Hashable {
    /// An object whose identity distinguishes one closure from another.
    private final class Identity: Sendable {}

    private let identity = Identity()
    let body: @Sendable (ResponseHead) async throws -> Void

    init(_ body: @escaping @Sendable (ResponseHead) async throws -> Void) {
        self.body = body
    }

    static func == (left: Self, right: Self) -> Bool { left.identity === right.identity }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(identity)) }
}
