internal import Foundation

extension DownloadRequest {
    /// What makes the request unusable, found before anything is sent.
    var validationError: DownloadError? {
        if let fault = url.validationError ?? headers.validationError ?? nonsecretHeaders.validationError {
            return fault.concerning(url)
        }
        if let checksum, !checksum.isWellFormed {
            return fault("a \(checksum.algorithm.rawValue) has \(checksum.algorithm.byteCount * 2) hexadecimal digits")
        }
        if checksum != nil, !RunningDigest.isAvailable {
            return DownloadError(.unsupported, "checksums on Linux need the trait ServerStack", url: url)
        }
        if identity?.isEmpty == true { return fault("the identity is empty") }
        if account?.isEmpty == true { return fault("the account is empty") }
        if let maximumByteCount, maximumByteCount < 0 { return fault("the maximum byte count is negative") }
        switch destination {
        case .file(let file):
            guard file.isFileURL, !file.hasDirectoryPath, !file.lastPathComponent.isEmpty else {
                return fault("the destination is no file URL")
            }
        case .directory(let directory):
            guard directory.isFileURL else { return fault("the destination is no file URL") }
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
    /// What makes it unusable.
    var validationError: DownloadError? {
        url.validationError ?? headers?.validationError ?? nonsecretHeaders?.validationError
    }
}

extension DownloadError {
    fileprivate func concerning(_ url: URL) -> Self {
        var error = self
        error.url = url
        return error
    }
}

extension URL {
    fileprivate var validationError: DownloadError? {
        guard let scheme = scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            return DownloadError(.invalidRequest, "only http and https URLs can be downloaded")
        }
        guard let host, !host.isEmpty else { return DownloadError(.invalidRequest, "the URL has no host") }
        guard user == nil, password == nil else {
            return DownloadError(.invalidRequest, "the URL contains credentials; send them in a header")
        }
        guard Origin(self) != nil else {
            return DownloadError(.invalidRequest, "the URL's host or port is unusable")
        }
        return nil
    }
}

extension HeaderFields {
    fileprivate var validationError: DownloadError? {
        if let fault = firstFieldFault { return DownloadError(.invalidRequest, fault) }
        guard let reserved = first(where: { Self.isReserved($0.name) }) else { return nil }
        return DownloadError(.invalidRequest, "header \(reserved.name) is governed by the package")
    }
}

extension Set<String> {
    /// Why these cannot be names of headers that are no secret.
    fileprivate var validationError: DownloadError? {
        for name in sorted() {
            guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenCharacter) else {
                return DownloadError(.invalidRequest, "a name among the nonsecret headers is not a token")
            }
            if HeaderFields.isCredential(name) {
                return DownloadError(.invalidRequest, "header \(name) is always a secret")
            }
        }
        return nil
    }
}
