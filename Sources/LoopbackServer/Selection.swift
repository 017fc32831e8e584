/// The part of a representation that a response contains.
enum Selection: Equatable {
    case whole
    case part(Range<Int64>)
    case multipart(Range<Int64>)
    /// The response is 416.
    case unsatisfiable
    /// The response is 412.
    case preconditionFailed
    /// The response is 304.
    case notModified

    /// Selects what a conforming server selects, within the limits of the resource's support for ranges and conditions.
    init(for request: RequestHead, of resource: Resource, length: Int64, now: HTTPDate) {
        if resource.failsPrecondition(of: request) {
            self = .preconditionFailed
            return
        }
        if resource.isUnmodified(for: request) {
            self = .notModified
            return
        }
        // Range applies to GET only (RFC 9110, 14.2).
        guard request.method == "GET", let field = request.headers["Range"] else {
            self = .whole
            return
        }
        switch resource.ranges {
        case .ignored, .announcedOnly:
            self = .whole
        case .refused:
            self = .unsatisfiable
        case .honored, .unannounced:
            guard resource.allowsRange(of: request, now: now), let range = RequestRange(field) else {
                self = .whole
                return
            }
            switch range.resolved(length: length) {
            case nil: self = .unsatisfiable
            // A suffix range of an empty representation is satisfiable but cannot be expressed as a Content-Range.
            case let bytes? where bytes.isEmpty: self = .whole
            case let bytes?: self = .part(bytes)
            }
        }
    }

    /// Returns the selection with the changes of the faults that select bytes.
    func changed(by deviations: Deviations, for request: RequestHead, length: Int64) -> Selection {
        var selection = self
        if deviations.ignoresRange, selection != .preconditionFailed, selection != .notModified {
            selection = .whole
        }
        let isRequested = request.headers["Range"] != nil
        if let first = deviations.unrequestedFirst, !isRequested, selection == .whole, first < length {
            selection = .part(first..<length)
        }
        if case .part(let bytes) = selection {
            let first = min(max(bytes.lowerBound + deviations.rangeShift, 0), bytes.upperBound - 1)
            let end = first + min(bytes.upperBound - first, max(1, deviations.longestRange))
            selection = .part(first..<end)
        }
        if deviations.isMultipart {
            switch selection {
            case .part(let bytes): selection = .multipart(bytes)
            case .whole: selection = .multipart(0..<length)
            case .multipart, .unsatisfiable, .preconditionFailed, .notModified: break
            }
        }
        return selection
    }
}
