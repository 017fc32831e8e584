/// A property of a parser that must hold for every input.
///
/// The tests check it with generated inputs, and the fuzzers with inputs that libFuzzer finds. Each parser has a row in
/// ``all``.
struct Property: Sendable, CustomStringConvertible {
    /// The name of the property, which its fuzzer and its seed file also have.
    let name: String
    /// Throws a ``Violation`` if the property doesn't hold for an input.
    let check: @Sendable ([UInt8]) throws -> Void

    init(_ name: String, _ check: @escaping @Sendable ([UInt8]) throws -> Void) {
        self.name = name
        self.check = check
    }

    /// Creates a property of a text; malformed UTF-8 in the input is repaired as the engines do it.
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

/// An error that describes how a property was violated.
struct Violation: Error, CustomStringConvertible {
    let description: String
}

/// Throws a ``Violation`` unless `condition` holds.
func demand(_ condition: Bool, _ what: @autoclosure () -> String) throws(Violation) {
    if !condition { throw Violation(description: what()) }
}
