#if ServerStack
/// What of a representation an answer consists of.
enum Selection: Equatable {
    case whole
    case part(Range<Int64>)
    case multipart(Range<Int64>)
    /// 416.
    case unsatisfiable
    /// 412.
    case forbidden

    /// What an honest server selects, as far as the resource lets this one be honest.
    init(for request: RequestHead, of resource: Resource, length: Int64, now: HTTPDate) {
        if resource.isForbidden(by: request) {
            self = .forbidden
            return
        }
        // Only GET has ranges (RFC 9110, 14.2).
        guard request.method == "GET", let field = request.headers["Range"] else {
            self = .whole
            return
        }
        switch resource.ranges {
        case .ignored, .announcedOnly:
            self = .whole
        case .refused:
            self = .unsatisfiable
        case .honoured, .unannounced:
            guard resource.allowsRange(of: request, now: now), let range = RequestRange(field) else {
                self = .whole
                return
            }
            switch range.resolved(length: length) {
            case nil: self = .unsatisfiable
            // The last bytes of nothing are selected but cannot be written as a Content-Range.
            case let bytes? where bytes.isEmpty: self = .whole
            case let bytes?: self = .part(bytes)
            }
        }
    }

    /// The selection, changed by the faults that choose the bytes.
    func changed(by deviations: Deviations, for request: RequestHead, length: Int64) -> Selection {
        var selection = self
        if deviations.ignoresRange, selection != .forbidden {
            selection = .whole
        }
        let isAsked = request.headers["Range"] != nil
        if let first = deviations.unrequestedFirst, !isAsked, selection == .whole, first < length {
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
            case .multipart, .unsatisfiable, .forbidden: break
            }
        }
        return selection
    }
}
#endif
