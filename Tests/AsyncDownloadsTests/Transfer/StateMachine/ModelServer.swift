@testable import AsyncDownloads

/// One byte of one version of the model's object, which shows whether the bytes of two versions were mixed.
struct ModelByte: Sendable, Hashable {
    let version: Int
    let isCoded: Bool
    let position: Int64
}

/// A response of the model's server, with its body.
struct ModelResponse {
    var status: Int
    var headers: HeaderFields = [:]
    var body: [ModelByte] = []
    /// Whether the head declares the end of the body.
    var declaresLength: Bool { headers["Content-Length"] != nil || headers["Content-Range"] != nil }
    /// Whether the framing declares the end of the body, so that a truncated body is recognized.
    var isFramed = true
}

/// A server with one object that changes, and with faults; what it declares about its bytes is always true.
struct ModelServer {
    enum Proof: CaseIterable { case tag, weakTag, date, none }

    private(set) var version = 1
    /// The node that responds; nodes have different tags for the same bytes.
    private var node = 1
    private(set) var length: Int64
    private(set) var proof: Proof
    /// The number of faults, or changes of the object, that may still happen.
    var faults: Int
    /// The number of responses that may be sent at the same time.
    var limit = Int.max
    private let isPassing: Bool

    init(faults: Int, passing: Bool, using generator: inout SplitMix64) {
        self.faults = faults
        isPassing = passing
        length = Int64.random(in: 0...120, using: &generator)
        proof = Proof.allCases.randomElement(using: &generator) ?? .tag
    }

    mutating func change(using generator: inout SplitMix64) {
        node += 1
        guard Int.random(in: 0..<4, using: &generator) > 0 else { return }
        version += 1
        if Bool.random(using: &generator) { length = Int64.random(in: 0...120, using: &generator) }
        if Bool.random(using: &generator) { proof = Proof.allCases.randomElement(using: &generator) ?? .tag }
    }

    /// Returns the length of a version's body.
    func length(isCoded: Bool) -> Int64 { isCoded ? length / 2 : length }

    var tag: String { "\"v\(version).\(node)\"" }
    private var date: String { HTTPDate(secondsSinceEpoch: Int64(1_000_000 + version)).headerValue }

    private var proofFields: HeaderFields {
        switch proof {
        case .tag: ["ETag": tag]
        case .weakTag: ["ETag": "W/\(tag)"]
        case .date: ["Last-Modified": date, "Date": HTTPDate.sample.headerValue]
        case .none: [:]
        }
    }

    private func proves(_ validator: String) -> Bool {
        (proof == .tag && validator == tag) || (proof == .date && validator == date)
    }

    /// Returns whether the condition of the request is true.
    private func isCurrent(_ request: ExchangeRequest) -> Bool {
        let fields = ["If-Match", "If-Unmodified-Since", "If-Range"]
        return fields.compactMap { request.headers[$0] }.allSatisfy(proves)
    }

    /// Returns whether a part that is sent despite the condition declares that it belongs to another version (rule 21).
    private func revealsChange(_ request: ExchangeRequest) -> Bool {
        guard let condition = request.headers["If-Match"] ?? request.headers["If-Range"] else { return false }
        return condition.hasPrefix("\"") && (proof == .tag || proof == .weakTag)
    }

    private func bytes(_ range: Range<Int64>, isCoded: Bool = false) -> [ModelByte] {
        range.map { ModelByte(version: version, isCoded: isCoded, position: $0) }
    }

    /// Returns a response, with one of the faults if any are left.
    mutating func answer(
        _ request: ExchangeRequest, engineDecodes: Bool, using generator: inout SplitMix64
    ) -> ModelResponse {
        let range = requestedRange(request)
        guard faults > 0, Int.random(in: 0..<3, using: &generator) == 0 else {
            return honest(request, range, &generator)
        }
        faults -= 1
        let isPartial = request.headers["Range"] != nil
        switch Int.random(in: 0..<(isPassing ? 6 : 12), using: &generator) {
        case 0: return whole(&generator)
        case 1: return ModelResponse(status: 503, headers: ["Retry-After": "3"])
        case 2: return ModelResponse(status: 302, headers: ["Location": "https://b.example/", "Content-Length": "9"])
        case 3: return ModelResponse(status: 302, headers: ["Location": "https://a.example/elsewhere"])
        case 4 where isPartial && isCurrent(request): return part(max(0, range.lowerBound - 3), range.upperBound)
        case 5 where isPartial && (isCurrent(request) || revealsChange(request)):
            return part(range.lowerBound, range.lowerBound + 4)
        case 4, 5: return whole(&generator)
        case 6:
            let status = [401, 403, 404, 410].randomElement(using: &generator) ?? 404
            return ModelResponse(status: status, headers: ["Content-Length": "0"])
        case 7: return ModelResponse(status: 416, headers: [:])
        case 8: return ModelResponse(status: 416, headers: ["Content-Range": "bytes */\(length + 1)"])
        case 9: return coded(engineDecodes)
        case 10: return ModelResponse(status: 206, headers: proofFields, body: bytes(0..<length))
        default: return part(min(range.lowerBound + 2, max(0, length - 1)), range.upperBound)
        }
    }

    private func requestedRange(_ request: ExchangeRequest) -> Range<Int64> {
        let digits = request.headers["Range"]?.dropFirst("bytes=".count).split(separator: "-") ?? []
        let first = digits.first.flatMap { Int64($0) } ?? 0
        let last = digits.count > 1 ? Int64(digits[1]) ?? .max - 1 : .max - 1
        return first..<last + 1
    }

    private func honest(
        _ request: ExchangeRequest, _ range: Range<Int64>, _ generator: inout SplitMix64
    ) -> ModelResponse {
        guard request.headers["Range"] != nil else { return whole(&generator) }
        if !isCurrent(request) {
            return request.headers["If-Range"] == nil ? ModelResponse(status: 412) : whole(&generator)
        }
        guard range.lowerBound < length else {
            return ModelResponse(status: 416, headers: ["Content-Range": "bytes */\(length)"])
        }
        return part(range.lowerBound, range.upperBound, unknownLength: Int.random(in: 0..<4, using: &generator) == 0)
    }

    private func whole(_ generator: inout SplitMix64) -> ModelResponse {
        var response = ModelResponse(status: 200, headers: proofFields, body: bytes(0..<length))
        if Int.random(in: 0..<4, using: &generator) > 0 { response.headers["Content-Length"] = "\(length)" }
        return response
    }

    private func coded(_ engineDecodes: Bool) -> ModelResponse {
        var response = ModelResponse(status: 200, headers: proofFields)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Length"] = "\(length(isCoded: true))"
        response.body =
            engineDecodes ? bytes(0..<length) : bytes(0..<length(isCoded: true), isCoded: true)
        return response
    }

    private func part(_ first: Int64, _ end: Int64, unknownLength: Bool = false) -> ModelResponse {
        guard first < min(end, length) else { return ModelResponse(status: 500) }
        let range = first..<min(end, length)
        var response = ModelResponse(status: 206, headers: proofFields, body: bytes(range))
        let whole = unknownLength ? "*" : "\(length)"
        response.headers["Content-Range"] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(whole)"
        return response
    }
}
