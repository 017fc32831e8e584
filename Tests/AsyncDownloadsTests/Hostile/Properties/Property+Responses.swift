@testable import AsyncDownloads

/// The properties of decisions about response heads: positions are consistent and within bounds.
extension Property {
    static func response(_ text: String) throws {
        let lines = text.split(separator: "\n")
        let status = lines.first.flatMap { Int($0.prefix(3)) } ?? 206
        let headers = HeaderFields(
            lines.dropFirst().map { line in
                let colon = line.firstIndex(of: ":") ?? line.endIndex
                return (name: String(line[..<colon]), value: String(line[colon...].dropFirst().drop { $0 == " " }))
            })
        let head = ResponseHead(status: StatusCode(status), headers: headers)
        for decodesContent in [false, true] {
            for (received, window) in [(0, nil), (0, 50), (40, nil), (40, 50)] as [(Int64, Int64?)] {
                try check(head, received: received, window: window, decodesContent: decodesContent)
            }
        }
    }

    private static func check(
        _ head: ResponseHead, received: Int64, window: Int64?, decodesContent: Bool
    ) throws {
        let known = Representation(
            finalURL: "https://example.com/a", validator: EntityTag("\"a\"").map(Validator.entityTag), length: 100)
        let requested = RequestedRange.continuing(at: received, validator: known.validator, window: window)
        let decision = ResponseInterpreter(
            requested: requested, known: received > 0 ? known : nil, received: received, url: known.finalURL,
            decodesContent: decodesContent, date: HTTPDate(secondsSinceEpoch: 1_800_000_000)
        ).decide(head)
        switch decision {
        case .append(let next):
            try demand(received > 0 && head.status.code == 206, "bytes appended to nothing")
            try demand(0...received ~= next.skipped, "skipped bytes that were not received")
            try demand(received < next.end && next.end <= 100, "an end out of bounds")
            try demand(
                next.representation.length == 100 && next.representation.validator == known.validator, "another object")
        case .begin(let representation, let end, let reason):
            try demand((reason != nil) == (received > 0), "bytes discarded without a reason")
            try demand(end ?? 0 >= 0 && end ?? 0 <= representation.length ?? .max, "an end out of bounds")
            if let name = representation.suggestedName {
                try demand(FileName.sanitized(name) == name, "a name that is not sanitized")
            }
        case .complete(let length):
            try demand(length == received, "complete with bytes missing")
        case .fail(let failure):
            try demand(failure.retryAfter ?? .zero >= .zero, "a negative delay")
        case .unchanged:
            try demand(false, "unchanged, although the request has no such condition")
        case .retryRequest, .redirect: break
        }
    }
}
