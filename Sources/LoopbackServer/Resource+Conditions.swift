extension Resource {
    /// Returns whether the request's If-Match or If-Unmodified-Since requires a 412 response (RFC 9110, 13.2.2).
    func failsPrecondition(of request: RequestHead) -> Bool {
        if honorsIfMatch, let tags = request.headers["If-Match"] {
            return tags != "*" && !tags.split(separator: ",").contains { isStronglyEqual($0.trimmed) }
        }
        if honorsIfUnmodifiedSince, let limit = request.headers["If-Unmodified-Since"].flatMap({ HTTPDate($0) }),
            let modified = lastModified.flatMap({ HTTPDate($0) })
        {
            return modified > limit
        }
        return false
    }

    /// Returns whether the request's If-None-Match or If-Modified-Since requires a 304 response (RFC 9110, 13.2.2).
    func isUnmodified(for request: RequestHead) -> Bool {
        guard honorsIfNoneMatch else { return false }
        if let tags = request.headers["If-None-Match"] {
            guard let entityTag else { return false }
            return tags == "*" || tags.split(separator: ",").contains { $0.trimmed.isWeaklyEqual(to: entityTag) }
        }
        guard let limit = request.headers["If-Modified-Since"].flatMap({ HTTPDate($0) }),
            let modified = lastModified.flatMap({ HTTPDate($0) })
        else { return false }
        return modified <= limit
    }

    /// Returns whether the request's If-Range permits its Range to be applied (RFC 9110, 13.1.5).
    func allowsRange(of request: RequestHead, now: HTTPDate) -> Bool {
        guard let validator = request.headers["If-Range"] else { return true }
        let isDate = HTTPDate(validator) != nil
        switch ifRange {
        case .ignored: return true
        case .neverMatching: return false
        case .datesOnly: return isDate && isCurrentDate(validator, now: now)
        case .correct: return isDate ? isCurrentDate(validator, now: now) : isStronglyEqual(validator)
        }
    }

    private func isStronglyEqual(_ tag: String) -> Bool {
        tag == entityTag && !tag.hasPrefix("W/")
    }

    /// Returns whether `validator` is the resource's modification date and is strong.
    ///
    /// The date is strong if the response is at least a second newer (RFC 9110, 8.8.2.2).
    private func isCurrentDate(_ validator: String, now: HTTPDate) -> Bool {
        guard validator == lastModified, let modified = HTTPDate(validator) else { return false }
        return (date.flatMap { HTTPDate($0) } ?? now) > modified
    }

    /// Returns the content coding that labels the response to this request.
    func coding(for request: RequestHead) -> ContentCoding? {
        guard let coding, coding.onlyIfAccepted else { return coding }
        let accepted = (request.headers["Accept-Encoding"] ?? "").split(separator: ",").map { item in
            item.split(separator: ";").map(\.trimmed)
        }
        let isAccepted = accepted.contains { item in
            item.first == coding.name && !item.dropFirst().contains { $0 == "q=0" || $0.hasPrefix("q=0.0") }
        }
        return isAccepted ? coding : nil
    }
}

extension String {
    /// Compares entity tags by the weak comparison (RFC 9110, 8.8.3.2).
    fileprivate func isWeaklyEqual(to other: String) -> Bool {
        func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }
        return opaque(self) == opaque(other)
    }
}

extension Substring {
    fileprivate var trimmed: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
