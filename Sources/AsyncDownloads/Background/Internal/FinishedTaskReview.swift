internal import Foundation

/// The review that decides whether the file of a finished task can be used.
///
/// A task "finishes" even if the server responded with an error, and tasks that continued from resume data have
/// produced files without their first bytes. The head and the length decide before anything else happens with the file.
struct FinishedTaskReview: Sendable {
    /// The result of the review.
    enum Verdict: Sendable {
        /// The file is the whole representation, as far as its head can prove.
        case whole(BackgroundBodyInfo)
        /// The file is the part after the base of the request, and both together are the whole representation.
        case fragment(BackgroundBodyInfo)
        /// The file is not the whole representation; the download has to start again without resume data.
        case restart(RestartReason)
        case failed(DownloadError)
    }

    /// The URL of the request.
    var requestedURL: String
    /// Whether the task continued from resume data.
    var wasResumed: Bool
    /// Whether a digest is checked afterward, which then proves the bytes.
    var hasChecksum: Bool
    var policy: BackgroundOptions.FinalURLPolicy
    var date: HTTPDate
    /// The first bytes, which the request of the task continues.
    var base: BackgroundBase?

    func verdict(on body: Spool.Body) -> Verdict {
        if let error = finalURLError(body.head.url) { return .failed(error) }
        let head = body.head.responseHead
        if let base, [206, 412, 416].contains(head.status.code) { return fragment(body, head, after: base) }
        switch head.status.code {
        // The length of the file is the proof, whether this process knows of the resumption or not.
        case 206: return part(body, head)
        case 416 where wasResumed: return .restart(.rangeNotSatisfiable)
        case 412 where wasResumed: return .restart(.contentChanged)
        default: return whole(body, head)
        }
    }

    /// A response to a request without a range, or a whole body that a server sent in response to a range.
    private func whole(_ body: Spool.Body, _ head: ResponseHead) -> Verdict {
        let interpreter = ResponseInterpreter(
            requested: .everything, known: nil, received: 0, url: body.head.url, decodesContent: true, date: date)
        switch interpreter.decide(head) {
        case .begin(let representation, let end, _):
            if let end, end != body.byteCount {
                guard !wasResumed else { return .restart(.invalidPartialResponse) }
                return .failed(
                    DownloadError(
                        .connectionLost, "the file has \(body.byteCount) bytes, and the response stated \(end)"))
            }
            // Without a length, nothing shows whether the beginning of a continued file is missing.
            guard end != nil || !wasResumed || hasChecksum else { return .restart(.noValidator) }
            return .whole(info(body, representation))
        case .fail(let failure):
            let isStatus = failure.code == .httpStatus
            return .failed(
                DownloadError(
                    failure.code, failure.detail, statusCode: isStatus ? body.head.status : nil,
                    isRetryable: failure.isRetryable, retryAfter: failure.retryAfter))
        case .redirect:
            return .failed(DownloadError(.httpStatus, "the redirect was not followed", statusCode: body.head.status))
        case .append, .complete, .unchanged, .retryRequest:
            return .failed(DownloadError(.malformedResponse, "the response does not match the request"))
        }
    }

    /// A response to the range that the system requested to continue from resume data.
    private func part(_ body: Spool.Body, _ head: ResponseHead) -> Verdict {
        guard case .satisfied(let positions, let length?)? = ContentRange(head.headers) else {
            guard hasChecksum else { return .restart(.invalidPartialResponse) }
            return .whole(info(body, Representation(finalURL: body.head.url)))
        }
        // A tail alone is as long as the range; a complete file is as long as the representation.
        guard positions.upperBound + 1 == length, body.byteCount == length else {
            return .restart(.invalidPartialResponse)
        }
        let interpreter = ResponseInterpreter(
            requested: .everything, known: nil, received: 0, url: body.head.url, decodesContent: true, date: date)
        // The metadata describes the whole representation, as in a 200 response.
        var complete = head
        complete.status = StatusCode(200)
        complete.headers["Content-Length"] = "\(length)"
        guard case .begin(let representation, _, _) = interpreter.decide(complete) else {
            return .restart(.invalidPartialResponse)
        }
        return .whole(info(body, representation))
    }

    /// A response to the package's own range.
    ///
    /// The response has to state the validator of the earlier bytes, the position of its first byte, and its length.
    private func fragment(_ body: Spool.Body, _ head: ResponseHead, after base: BackgroundBase) -> Verdict {
        guard let (requested, known) = base.continuation else { return .restart(.noValidator) }
        let interpreter = ResponseInterpreter(
            requested: requested, known: known, received: base.byteCount, url: body.head.url, decodesContent: true,
            date: date, requiresVerification: true)
        switch interpreter.decide(head) {
        case .append(let continuation):
            guard continuation.skipped == 0, continuation.end - base.byteCount == body.byteCount,
                continuation.representation.length == continuation.end
            else { return .restart(.invalidPartialResponse) }
            var info = info(body, continuation.representation)
            info.byteCount = continuation.end
            return .fragment(info)
        case .retryRequest(.everything(let reason)): return .restart(reason)
        default: return .restart(.invalidPartialResponse)
        }
    }

    private func info(_ body: Spool.Body, _ representation: Representation) -> BackgroundBodyInfo {
        var info = BackgroundBodyInfo(byteCount: body.byteCount, finalURL: body.head.url)
        info.contentType = representation.contentType
        info.lastModified = representation.lastModified
        info.suggestedName = representation.suggestedName
        info.serverDigest = representation.digests?.first?.text
        if case .entityTag(let tag)? = representation.validator { info.entityTag = tag.rawValue }
        return info
    }

    private func finalURLError(_ text: String) -> DownloadError? {
        guard let final = URL(string: text), let origin = Origin(final), let requested = URL(string: requestedURL)
        else {
            return DownloadError(.malformedResponse, "the response has no valid URL")
        }
        switch policy {
        case .any: return nil
        case .secure:
            guard requested.scheme?.lowercased() == "https", origin.scheme != "https" else { return nil }
            return DownloadError(.redirectRefused, "a redirect led from https to http")
        case .sameOrigin:
            guard Origin(requested) != origin else { return nil }
            return DownloadError(.redirectRefused, "a redirect led to another origin")
        }
    }
}
