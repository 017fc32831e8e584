/// The conditions under which a request accepts a response, checked before any byte of its body is used.
extension DownloadRequest {
    /// The media types that are accepted, such as `application/zip` or `image/*`; `nil` accepts any.
    ///
    /// A response with another type fails with ``DownloadError/Code/unacceptableMediaType``, or with
    /// ``DownloadError/Code/unexpectedHTML`` if it is a web page. Parameters of the response's type are ignored, and a
    /// response without a type counts as `application/octet-stream`.
    ///
    /// If the value is `nil`, one kind of response is still refused: a web page (`text/html` or
    /// `application/xhtml+xml`) where the path of ``url``, or the name of the file at the destination, has a well-known
    /// extension of another kind of file, such as `zip`, `jpg`, `mp4`, `pdf`, or `safetensors`. The page is accepted
    /// nevertheless if
    ///
    /// - one of these names has an extension of a web page or of a script, such as `html` or `php`,
    /// - the Accept header in ``headers`` names the type of the page, or
    /// - the bytes received earlier or the existing file at the destination are a web page.
    ///
    /// A name without an extension, or with a text extension such as `json` or `csv`, accepts any response. To download
    /// web pages under any name, include `text/html`.
    ///
    /// Each download has its own condition: a refused response ends only this download, with nothing written, and other
    /// downloads that share the transfer continue. The condition is checked once for each object, but not for an
    /// existing file that is reused (``ExistingFilePolicy``). In a background session, a request that sets this
    /// property fails with ``DownloadError/Code/unsupported``. The property isn't recorded with an unfinished file.
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
    /// The thrown error becomes the ``DownloadError/underlyingError`` of a ``DownloadError`` with the code
    /// ``DownloadError/Code/responseRefused``. The closure is called in a separate task, once for each object: with the
    /// head of the first response that contains its bytes, whose status code is 200, 203, or 206. It is called after
    /// the other conditions of the request have been checked. It isn't called for redirects, error responses, retries
    /// that continue or repeat the same object (recognized by its strong validator), or an existing file that is
    /// reused. For a download that joins a running transfer, it is called with the response that the transfer has
    /// accepted. The body is held back, and the connection stays open, until the closure of one of the downloads that
    /// share the transfer has accepted the response; this time counts toward the ``deadline`` but not toward the idle
    /// timeout. A download gets its file only after its own closure has returned. The task is canceled when the
    /// download ends.
    ///
    /// See ``acceptedMediaTypes`` for the effect of a refusal. The closures of two requests are equal only if one is a
    /// copy of the other.
    public var validateResponse: (@Sendable (ResponseHead) async throws -> Void)? {
        get { options.responseValidation?.body }
        set { options.responseValidation = newValue.map { ResponseValidation($0) } }
    }

    /// The required length of the file in bytes; `nil` for any length.
    ///
    /// If the server states another length, the download fails with ``DownloadError/Code/unexpectedByteCount`` before
    /// any byte of the body is used. A body without a stated length is received up to this length, and must end there.
    /// Until the server has stated a length, progress reports this value as the expected length. The available disk
    /// space is compared with this value before the request is sent.
    ///
    /// Downloads that share a transfer may have different values. An existing file of another length isn't reused. In a
    /// background session, a request that sets this property fails with ``DownloadError/Code/unsupported``; set
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
