/// What holds of a parser whatever it is given, beyond that it comes back.
///
/// The tests try it on generated inputs, the fuzzers on those that libFuzzer finds. Another parser is another row of
/// ``all``.
struct Property: Sendable, CustomStringConvertible {
    /// What the fuzzers, and the files of their seeds, call it.
    let name: String
    /// Throws a ``Violation`` where it does not hold.
    let check: @Sendable ([UInt8]) throws -> Void

    init(_ name: String, _ check: @escaping @Sendable ([UInt8]) throws -> Void) {
        self.name = name
        self.check = check
    }

    /// A property of the text that the bytes are, malformed UTF-8 repaired as the engines do it.
    init(_ name: String, ofText check: @escaping @Sendable (String) throws -> Void) {
        self.init(name) { try check(String(decoding: $0, as: UTF8.self)) }
    }

    var description: String { name }

    static let all: [Property] = [
        Property("content-range", ofText: contentRange),
        Property("content-length", ofText: contentLength),
        Property("content-coding", ofText: contentCoding),
        Property("retry-after", ofText: retryAfter),
        Property("http-date", ofText: httpDate),
        Property("entity-tag", ofText: entityTag),
        Property("validator", ofText: validator),
        Property("repr-digest", ofText: reprDigest),
        Property("content-disposition", ofText: contentDisposition),
        Property("file-name", ofText: fileName),
        Property("redirect", ofText: redirect),
        Property("transfer-key", ofText: transferKey),
        Property("response", ofText: response),
        Property("checkpoint", checkpoint),
        Property("checkpoint-record", checkpointRecord),
        Property("checkpoint-mark", checkpointMark),
        Property("checkpoint-file", checkpointFile),
        Property("restoring", restoring),
        Property("resume-token", resumeToken),
        Property("resume-data", resumeData),
    ]
}

/// What did not hold.
struct Violation: Error, CustomStringConvertible {
    let description: String
}

/// Throws a ``Violation`` unless `condition` holds.
func demand(_ condition: Bool, _ what: @autoclosure () -> String) throws(Violation) {
    if !condition { throw Violation(description: what()) }
}
