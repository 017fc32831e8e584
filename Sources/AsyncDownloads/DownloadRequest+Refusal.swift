internal import Foundation

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
