extension DownloadError.Code {
    /// The codes by name, for errors that were recorded by an earlier process.
    private static let byName: [String: Self] = {
        let codes: [Self] = [
            .invalidRequest, .cancelled, .superseded, .duplicate, .destinationInUse, .shutDown, .bodyTooLarge,
            .checksumMismatch, .resumeDataUnusable, .unsupported, .urlRefreshFailed, .authorizationFailed,
            .hostNotFound,
            .cannotConnect, .notConnected, .connectionLost, .timedOut, .deadlineExceeded, .secureConnectionFailed,
            .httpStatus, .malformedResponse,
            .contentChanged, .tooManyRedirects, .redirectRefused, .diskFull, .permissionDenied, .destinationUnusable,
            .partialInUse, .tooManyOpenFiles, .storageFailure, .networkNotPermitted, .journalUnreadable, .sessionInUse,
            .taskLost,
            .backgroundNotPermitted, .systemResourcesExhausted,
        ]
        return Dictionary(codes.map { ($0.name, $0) }) { first, _ in first }
    }()

    /// Creates the code with a name; `nil` if this version has no such code.
    init?(recordedName name: String) {
        guard let code = Self.byName[name] else { return nil }
        self = code
    }
}
