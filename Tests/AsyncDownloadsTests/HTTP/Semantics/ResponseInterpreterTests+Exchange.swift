internal import Testing

@testable import AsyncDownloads

/// A row in the tables of ``ResponseInterpreterTests``: a request, the received bytes, a response, and its meaning.
struct InterpretedExchange: Sendable, CustomTestStringConvertible {
    var requested = RequestedRange.everything
    var known: Representation?
    var received: Int64 = 0
    var decodesContent = false
    var mayDropCondition = false
    var status: Int
    var headers: HeaderFields
    let verdict: Verdict

    var testDescription: String { "\(requested.fields) → \(status) \(headers)" }

    /// Returns an exchange that requests the whole file when no bytes were received.
    static func fresh(
        _ status: Int, _ headers: HeaderFields = [:], decodes: Bool = false, _ verdict: Verdict
    ) -> Self {
        Self(decodesContent: decodes, status: status, headers: headers, verdict: verdict)
    }

    /// Returns an exchange that requests the first 40 bytes when no bytes were received.
    static func firstWindow(_ status: Int, _ headers: HeaderFields = [:], _ verdict: Verdict) -> Self {
        Self(
            requested: .continuing(at: 0, validator: nil, window: 40), status: status, headers: headers,
            verdict: verdict)
    }

    /// Returns an exchange that requests the rest, or a window of it, when 50 of 100 bytes were received.
    static func rest(
        of known: Representation = .sample(), window: Int64? = nil, _ status: Int, _ headers: HeaderFields = [:],
        _ verdict: Verdict
    ) -> Self {
        Self(
            requested: .continuing(at: 50, validator: known.validator, window: window), known: known, received: 50,
            status: status, headers: headers, verdict: verdict)
    }

    /// Returns an exchange that requests the rest without a condition when 50 of 100 bytes were received.
    static func unconditionalRest(
        of known: Representation = .sample(), _ status: Int, _ headers: HeaderFields = [:], _ verdict: Verdict
    ) -> Self {
        Self(
            requested: .continuing(at: 50, validator: known.validator, window: nil, isConditional: false), known: known,
            received: 50, status: status, headers: headers, verdict: verdict)
    }

    /// Returns the same exchange for a transfer that may still repeat the request without its condition.
    func droppable(_ verdict: Verdict) -> Self {
        Self(
            requested: requested, known: known, received: received, decodesContent: decodesContent,
            mayDropCondition: true,
            status: status, headers: headers, verdict: verdict)
    }

    /// The verdict of the interpreter.
    var actualVerdict: Verdict {
        let interpreter = ResponseInterpreter(
            requested: requested, known: known, received: received, url: "https://a.example/file",
            decodesContent: decodesContent, date: .sample, mayDropCondition: mayDropCondition)
        return Verdict(interpreter.decide(ResponseHead(status: StatusCode(status), headers: headers)))
    }
}

/// A decision of the interpreter without texts that the tables don't compare.
enum Verdict: Sendable, Hashable {
    case append(skipped: Int64 = 0, end: Int64)
    case begin(
        length: Int64?, end: Int64?, _ restart: RestartReason? = nil, validator: String? = nil, coding: String? = nil)
    case complete(Int64)
    case unchanged
    case retryRequest(ResponseDecision.Change)
    case redirect(String?)
    case fail(DownloadError.Code, retryable: Bool = false, after: Duration? = nil, blamesRange: Bool = false)

    /// The verdict on a partial response that must not be used.
    static let rangeFault = Self.fail(.malformedResponse, retryable: true, blamesRange: true)

    init(_ decision: ResponseDecision) {
        self =
            switch decision {
            case .append(let next): .append(skipped: next.skipped, end: next.end)
            case .begin(let new, let end, let restart):
                .begin(
                    length: new.length, end: end, restart, validator: new.validator?.rawValue,
                    coding: new.contentCoding)
            case .complete(let length): .complete(length)
            case .unchanged: .unchanged
            case .retryRequest(let change): .retryRequest(change)
            case .redirect(let location): .redirect(location)
            case .fail(let failure):
                .fail(
                    failure.code, retryable: failure.isRetryable, after: failure.retryAfter,
                    blamesRange: failure.blamesRange)
            }
    }
}

extension Representation {
    /// Returns a representation of 100 bytes with an entity tag.
    static func sample(tag: String = "\"v1\"", length: Int64? = 100, type: String? = nil) -> Self {
        Self(
            finalURL: "https://a.example/file", validator: EntityTag(tag).map(Validator.entityTag), length: length,
            contentType: type)
    }

    /// Returns a representation of 100 bytes with a modification date as its validator.
    static func dated(_ date: String = "Sun, 06 Nov 1994 08:49:37 GMT", length: Int64? = 100) -> Self {
        Self(finalURL: "https://a.example/file", validator: .lastModified(date), length: length)
    }
}

extension HTTPDate {
    /// Mon, 07 Nov 1994 08:49:37 GMT.
    static let sample = HTTPDate(secondsSinceEpoch: 784_198_177)
}
