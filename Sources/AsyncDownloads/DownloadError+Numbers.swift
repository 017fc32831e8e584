extension DownloadError.Code {
    /// All codes, with their numbers as errors of ``DownloadError/errorDomain``.
    ///
    /// A number belongs to one code in all versions: it never changes and is never reused. A code that a later version
    /// adds gets a new number. The thousands digit is the group in which the code is declared.
    static let numbered: [(code: Self, number: Int)] = [
        (.invalidRequest, 1001),
        (.cancelled, 1002),
        (.superseded, 1003),
        (.duplicate, 1004),
        (.destinationInUse, 1005),
        (.shutDown, 1006),
        (.bodyTooLarge, 1007),
        (.unexpectedByteCount, 1014),
        (.checksumMismatch, 1008),
        (.resumeDataUnusable, 1009),
        (.trustRootsUnusable, 1010),
        (.clientIdentityUnusable, 1011),
        (.unsupported, 1012),
        (.urlRefreshFailed, 1013),
        (.authorizationFailed, 1015),
        (.hostNotFound, 2001),
        (.cannotConnect, 2002),
        (.connectionLost, 2003),
        (.timedOut, 2004),
        (.deadlineExceeded, 2005),
        (.secureConnectionFailed, 2006),
        (.proxyFailed, 2007),
        (.notConnected, 2009),
        (.networkNotPermitted, 2008),
        (.httpStatus, 3001),
        (.malformedResponse, 3002),
        (.contentChanged, 3003),
        (.tooManyRedirects, 3004),
        (.redirectRefused, 3005),
        (.unacceptableMediaType, 3006),
        (.unexpectedHTML, 3007),
        (.responseRefused, 3008),
        (.diskFull, 4001),
        (.permissionDenied, 4002),
        (.destinationUnusable, 4003),
        (.destinationExists, 4004),
        (.partialInUse, 4005),
        (.tooManyOpenFiles, 4006),
        (.storageFailure, 4007),
        (.journalUnreadable, 5001),
        (.sessionInUse, 5002),
        (.taskLost, 5003),
        (.backgroundNotPermitted, 5004),
        (.systemResourcesExhausted, 5005),
    ]

    private static let byName = Dictionary(numbered.map { ($0.code.name, $0) }) { first, _ in first }

    /// Creates the code with this name; `nil` if this version doesn't know the name.
    init?(recordedName name: String) {
        guard let entry = Self.byName[name] else { return nil }
        self = entry.code
    }

    /// The number of the code as an error of ``DownloadError/errorDomain``.
    var number: Int {
        guard let entry = Self.byName[name] else { preconditionFailure("the code \(name) has no number") }
        return entry.number
    }
}
