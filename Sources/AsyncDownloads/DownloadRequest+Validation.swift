internal import Foundation

extension DownloadRequest {
    /// The reason why the request can't be sent, or `nil` if the request is valid.
    var validationError: DownloadError? {
        if let fault = url.validationError ?? headers.validationError ?? nonsecretHeaders.validationError {
            return fault.concerning(url)
        }
        if let urlCredentials, urlCredentials.basic == nil {
            return fault("the user name or the password in the URL can't be sent as Basic authorization")
        }
        let isSecure = url.scheme?.asciiLowercased() == "https"
        for text in credentialOrigins.sorted() {
            guard let origin = Origin(text: text) else { return fault("a credential origin is not a valid origin") }
            if isSecure, !origin.isSecure { return fault("a credential origin is not secure, and the URL is") }
        }
        if let checksum, !checksum.isWellFormed {
            let (name, count) = (checksum.algorithm.rawValue, checksum.algorithm.byteCount * 2)
            return fault("a \(name) checksum has \(count) hexadecimal digits")
        }
        if checksum != nil, !RunningDigest.isAvailable {
            return DownloadError(.unsupported, "checksums require the trait ServerStack on Linux", url: url)
        }
        if identity?.isEmpty == true { return fault("the identity is empty") }
        if account?.isEmpty == true { return fault("the account is empty") }
        if userInfo.reduce(0, { $0 + $1.key.utf8.count + $1.value.utf8.count }) > 4096 {
            return fault("the user info has more than 4 KiB")
        }
        if let maximumByteCount, maximumByteCount < 0 { return fault("the maximum byte count is negative") }
        if let expectedByteCount, expectedByteCount < 0 { return fault("the expected byte count is negative") }
        if let acceptedMediaTypes {
            if acceptedMediaTypes.isEmpty { return fault("the list of accepted media types is empty") }
            if let type = acceptedMediaTypes.first(where: { MediaType($0) == nil }) {
                return fault("not a media type: \(String(reflecting: type))")
            }
        }
        if let connectionCount, !(1...16).contains(connectionCount) {
            return fault("the connection count must be from 1 to 16")
        }
        if let rate = bandwidthLimit.bytesPerSecond, rate < 1 { return fault("the bandwidth limit must be at least 1") }
        switch destination {
        case .file(let file):
            guard file.namesFile else { return fault("the destination is not a file URL that names a file") }
        case .directory(let directory):
            guard directory.isFileURL else { return fault("the destination is not a file URL") }
        case .memory:
            break
        }
        return nil
    }

    private func fault(_ reason: String) -> DownloadError {
        DownloadError(.invalidRequest, reason, url: url)
    }
}

extension FreshURL {
    /// The reason why the URL or its headers can't be used, or `nil` if they are valid.
    var validationError: DownloadError? {
        url.validationError ?? headers?.validationError ?? nonsecretHeaders?.validationError
    }
}

extension DownloadError {
    /// Returns the same error, with the requested URL.
    func concerning(_ url: URL) -> Self {
        var error = self
        error.url = url
        return error
    }
}

extension URL {
    fileprivate var namesFile: Bool {
        if isPlainFile { return true }
        return isFileURL && !hasDirectoryPath && !["", ".", ".."].contains(lastPathComponent)
    }

    fileprivate var validationError: DownloadError? {
        if absoluteStringInNormalForm != nil { return nil }
        guard let scheme = scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            return DownloadError(.invalidRequest, "only http and https URLs can be downloaded")
        }
        guard let host, !host.isEmpty else { return DownloadError(.invalidRequest, "the URL has no host") }
        guard user == nil, password == nil else {
            return DownloadError(.invalidRequest, "the URL contains credentials; send them in a header")
        }
        guard Origin(self) != nil else {
            return DownloadError(.invalidRequest, "the URL's host or port is not valid")
        }
        return nil
    }
}

extension HeaderFields {
    /// The reason why a caller can't send these fields, or `nil` if they are valid.
    var validationError: DownloadError? {
        if let fault = firstFieldFault { return DownloadError(.invalidRequest, fault) }
        guard let reserved = first(where: { Self.isReserved($0.name) }) else { return nil }
        return DownloadError(.invalidRequest, "header \(reserved.name) is set by the package and cannot be specified")
    }
}

extension Set<String> {
    /// The reason why these names can't be the names of nonsecret headers, or `nil` if they are valid.
    fileprivate var validationError: DownloadError? {
        for name in sorted() {
            guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenCharacter) else {
                return DownloadError(.invalidRequest, "the name of a nonsecret header is not a token")
            }
            if HeaderFields.isCredential(name) {
                return DownloadError(.invalidRequest, "header \(name) is always secret")
            }
        }
        return nil
    }
}

/// The checks by which a request refuses a response (rule 66) or a file.
extension DownloadRequest {
    /// Whether the request sets at least one condition for responses.
    var hasResponseConditions: Bool {
        acceptedMediaTypes != nil || expectedByteCount != nil || responseValidation != nil
    }

    /// The maximum number of bytes that the request accepts; nil for any number.
    var largestByteCount: Int64? { [maximumByteCount, expectedByteCount].compactMap { $0 }.min() }

    /// Returns the error of a file of this length, or nil if the request accepts it.
    func lengthError(_ count: Int64) -> DownloadError? {
        if let expectedByteCount, count != expectedByteCount {
            return DownloadError(.unexpectedByteCount, "\(count) bytes, \(expectedByteCount) expected")
        }
        if let maximumByteCount, count > maximumByteCount {
            return DownloadError(.bodyTooLarge, "\(count) bytes, \(maximumByteCount) allowed")
        }
        return nil
    }

    /// Returns the error of a response that the request refuses, apart from its closure; nil if it accepts the
    /// response.
    func refusal(of response: CandidateResponse) -> DownloadError? {
        var error: DownloadError?
        if let expectedByteCount, let count = response.representation.length, count != expectedByteCount {
            error = lengthError(count)
        } else if let acceptedMediaTypes {
            let type = response.mediaType
            let isAccepted = type.map { type in acceptedMediaTypes.contains { MediaType($0).map(type.isIn) ?? false } }
            if isAccepted != true {
                let isPage = type?.isHTML == true
                error = DownloadError(isPage ? .unexpectedHTML : .unacceptableMediaType, type?.description ?? "")
            }
        } else if let type = response.mediaType, type.isHTML, promisesOtherFile, !accepts(type),
            !response.earlierTypes.contains(where: { MediaType($0)?.isHTML == true })
        {
            error = DownloadError(.unexpectedHTML, type.description)
        }
        return error?.concerning(response.head)
    }

    /// Whether the extension of a file name shows that a web page isn't expected.
    private var promisesOtherFile: Bool {
        var kinds = [FileKind(of: url.lastPathComponent)]
        switch destination {
        case .file(let file): kinds.append(FileKind(of: file.lastPathComponent))
        case .directory: kinds.append(givenFileName.map { FileKind(of: $0) } ?? .unknown)
        case .memory: break
        }
        return kinds.contains(.otherFile) && !kinds.contains(.webPage)
    }

    /// Returns whether the request's own Accept header names a media type.
    private func accepts(_ type: MediaType) -> Bool {
        headers.tokens(for: "Accept").contains { MediaType(String($0)) == type }
    }
}

extension DownloadError {
    /// Returns the same error, with the head of the response that is its reason.
    func concerning(_ head: ResponseHead) -> Self {
        var error = self
        error.response = head.withoutSecrets
        return error
    }
}
