internal import Testing

@testable import AsyncDownloads

/// One exchange for the tables of ``ResponseInterpreterTests``: what was asked, what was there, what was answered.
struct InterpretedExchange: Sendable, CustomTestStringConvertible {
    var asked = RequestedRange.everything
    var known: Representation?
    var received: Int64 = 0
    var decodesContent = false
    var mayDropCondition = false
    var status: Int
    var headers: HeaderFields
    let verdict: Verdict

    var testDescription: String { "\(asked.fields) → \(status) \(headers)" }

    /// Nothing is there, and everything is asked for.
    static func fresh(
        _ status: Int, _ headers: HeaderFields = [:], decodes: Bool = false, _ verdict: Verdict
    ) -> Self {
        Self(decodesContent: decodes, status: status, headers: headers, verdict: verdict)
    }

    /// Nothing is there, and a window of 40 bytes is asked for.
    static func firstWindow(_ status: Int, _ headers: HeaderFields = [:], _ verdict: Verdict) -> Self {
        Self(
            asked: .continuing(at: 0, validator: nil, window: 40), status: status, headers: headers, verdict: verdict)
    }

    /// 50 of 100 bytes are there, and the rest is asked for, in a window if one is given.
    static func rest(
        of known: Representation = .sample(), window: Int64? = nil, _ status: Int, _ headers: HeaderFields = [:],
        _ verdict: Verdict
    ) -> Self {
        Self(
            asked: .continuing(at: 50, validator: known.validator, window: window), known: known, received: 50,
            status: status, headers: headers, verdict: verdict)
    }

    /// 50 of 100 bytes are there, and the rest is asked for without a condition.
    static func unconditionalRest(
        of known: Representation = .sample(), _ status: Int, _ headers: HeaderFields = [:], _ verdict: Verdict
    ) -> Self {
        Self(
            asked: .continuing(at: 50, validator: known.validator, window: nil, isConditional: false), known: known,
            received: 50, status: status, headers: headers, verdict: verdict)
    }

    /// The same exchange while the condition may still be dropped.
    func droppable(_ verdict: Verdict) -> Self {
        Self(
            asked: asked, known: known, received: received, decodesContent: decodesContent, mayDropCondition: true,
            status: status, headers: headers, verdict: verdict)
    }

    var actualVerdict: Verdict {
        let interpreter = ResponseInterpreter(
            asked: asked, known: known, received: received, url: "https://a.example/file",
            decodesContent: decodesContent, date: .sample, mayDropCondition: mayDropCondition)
        return Verdict(interpreter.decide(ResponseHead(status: StatusCode(status), headers: headers)))
    }
}

/// A decision without the words in it.
enum Verdict: Sendable, Hashable {
    case append(skipped: Int64 = 0, end: Int64)
    case begin(
        length: Int64?, end: Int64?, _ restart: RestartReason? = nil, validator: String? = nil, coding: String? = nil)
    case complete(Int64)
    case retryRequest(ResponseDecision.Change)
    case redirect(String?)
    case fail(DownloadError.Code, retryable: Bool = false, after: Duration? = nil, blamesRange: Bool = false)

    /// What a partial response that must not be used comes to.
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
            case .retryRequest(let instead): .retryRequest(instead)
            case .redirect(let location): .redirect(location)
            case .fail(let failure):
                .fail(
                    failure.code, retryable: failure.isRetryable, after: failure.retryAfter,
                    blamesRange: failure.blamesRange)
            }
    }
}

extension Representation {
    /// What is known of an object of 100 bytes.
    static func sample(tag: String = "\"v1\"", length: Int64? = 100, type: String? = nil) -> Self {
        Self(
            finalURL: "https://a.example/file", validator: EntityTag(tag).map(Validator.entityTag), length: length,
            contentType: type)
    }

    /// The same, proven by its date.
    static func dated(_ date: String = "Sun, 06 Nov 1994 08:49:37 GMT", length: Int64? = 100) -> Self {
        Self(finalURL: "https://a.example/file", validator: .lastModified(date), length: length)
    }
}

extension HTTPDate {
    /// Mon, 07 Nov 1994 08:49:37 GMT.
    static let sample = HTTPDate(secondsSinceEpoch: 784_198_177)
}
