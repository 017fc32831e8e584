/// The rate limit fields of a response, from servers that send no `Retry-After`.
///
/// `RateLimit` and `RateLimit-Policy` are structured fields whose values are lists
/// (draft-ietf-httpapi-ratelimit-headers-10): `r` is the number of requests that are left, `t` the time until more are
/// permitted, and `w` the length of a policy's window, in seconds. The older fields have one value each, and names that
/// begin with `X-RateLimit-` or `RateLimit-`.
enum RateLimit {
    /// The longest delay in seconds; larger numbers are instants.
    private static let longestDelay: Int64 = 1_000_000_000
    /// The latest instant in seconds since 1970, in the year 5138; larger numbers are milliseconds since 1970.
    private static let latestSeconds: Int64 = 100_000_000_000
    private static let olderPrefixes = ["X-RateLimit-", "RateLimit-"]

    /// Returns the time that the fields ask to wait; `nil` if they state none.
    ///
    /// - Parameters:
    ///   - headers: The fields of the response.
    ///   - isRefusal: Whether the server refuses the request because it receives too many. The older fields are read
    ///     only in this case, because their meanings differ.
    static func retryAfter(_ headers: HeaderFields, isRefusal: Bool) -> RetryAfter? {
        if let seconds = exhausted(headers) { return .seconds(seconds) }
        guard isRefusal else { return nil }
        return olderPrefixes.lazy.compactMap { older(headers, $0) }.first
    }

    /// The server's present readiness to accept more requests.
    enum Quota: Sendable, Hashable {
        /// At least one more request is accepted.
        case available
        /// No request is accepted for this time.
        case exhausted(Duration)
    }

    /// Returns the quota in `RateLimit`; `nil` if the field is missing, malformed, or states no number of requests.
    static func quota(_ headers: HeaderFields) -> Quota? {
        if let seconds = exhausted(headers) { return .exhausted(.seconds(min(seconds, RetryAfter.maximumSeconds))) }
        guard let limits = headers["RateLimit"].flatMap(items) else { return nil }
        let remaining = limits.compactMap { $0.parameters["r"] }
        // A limit may be exhausted for an unknown time.
        return remaining.isEmpty || remaining.contains { $0 <= 0 } ? nil : .available
    }

    /// Returns the longest time until an exhausted limit permits requests again, in seconds; `nil` if there is none.
    private static func exhausted(_ headers: HeaderFields) -> Int64? {
        guard let limits = headers["RateLimit"].flatMap(items) else { return nil }
        let policies = headers["RateLimit-Policy"].flatMap(items) ?? []
        let times = limits.filter { $0.parameters["r"] == 0 }.compactMap { limit in
            limit.parameters["t"] ?? policies.first { $0.name == limit.name }?.parameters["w"]
        }
        return times.filter { $0 >= 0 }.max()
    }

    private static func older(_ headers: HeaderFields, _ prefix: String) -> RetryAfter? {
        if let remaining = headers.first(prefix + "Remaining"), remaining.trimmingFieldWhitespace() != "0" {
            return nil
        }
        guard let text = headers.first(prefix + "Reset") else { return nil }
        var scanner = FieldScanner(text.trimmingFieldWhitespace())
        guard let number = scanner.takeNumber(), scanner.isAtEnd else { return nil }
        guard number > longestDelay else { return .seconds(number) }
        return .date(HTTPDate(secondsSinceEpoch: number > latestSeconds ? number / 1000 : number))
    }

    private struct Item {
        let name: String
        /// The parameters whose values are integers.
        var parameters: [String: Int64] = [:]
    }

    /// Parses a list of strings or tokens with parameters (RFC 9651, 3.1); `nil` if it is malformed.
    private static func items(_ text: String) -> [Item]? {
        var scanner = FieldScanner(text)
        var items: [Item] = []
        repeat {
            scanner.takeWhitespace()
            guard let name = scanner.takeBareItem() else { return nil }
            var item = Item(name: name)
            while scanner.take(";") {
                scanner.takeWhitespace()
                let key = String(scanner.take { $0.isTokenCharacter && $0.asciiLowercased == $0 })
                guard !key.isEmpty else { return nil }
                guard scanner.take("=") else { continue }
                guard let value = scanner.takeBareItem() else { return nil }
                item.parameters[key] = Int64(value)
            }
            items.append(item)
            scanner.takeWhitespace()
        } while scanner.take(",")
        return scanner.isAtEnd ? items : nil
    }
}

extension FieldScanner {
    /// Reads a string without its quotation marks, or a token, a number, or another item without white space.
    fileprivate mutating func takeBareItem() -> String? {
        guard take("\"") else {
            let text = take { !$0.isFieldWhitespace && $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: ",") }
            return text.isEmpty ? nil : String(text)
        }
        var bytes: [UInt8] = []
        while let byte = takeByte() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"): takeByte().map { bytes.append($0) }
            default: bytes.append(byte)
            }
        }
        return nil
    }
}
