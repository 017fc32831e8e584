internal import Foundation

/// A JSON object on one line (RFC 8259), with its members in the order in which they were added.
///
/// Foundation's encoders sort the members or do not specify their order.
struct JSONLine: Sendable, CustomStringConvertible {
    enum Value: Sendable, Hashable {
        case text(String)
        case integer(Int64)
        case number(Double)
        case bool(Bool)
        /// The text of an object.
        case object(String)
        case null
    }

    private var members: [(name: String, value: Value)] = []

    /// The text of the object, without a line terminator.
    var description: String {
        "{" + members.map { "\(Self.quoted($0.name)):\($0.value.text)" }.joined(separator: ",") + "}"
    }

    mutating func add(_ name: String, _ value: String?) { members.append((name, value.map(Value.text) ?? .null)) }
    mutating func add(_ name: String, _ value: Int64?) { members.append((name, value.map(Value.integer) ?? .null)) }
    mutating func add(_ name: String, _ value: Int?) { add(name, value.map(Int64.init)) }
    mutating func add(_ name: String, _ value: Bool) { members.append((name, .bool(value))) }

    mutating func add(_ name: String, _ object: JSONLine) { members.append((name, .object(object.description))) }

    /// Adds a duration in seconds, rounded to microseconds.
    mutating func add(_ name: String, _ value: Duration) {
        members.append((name, .number((value / .seconds(1) * 1e6).rounded() / 1e6)))
    }

    fileprivate static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            // Control characters could affect a terminal, and some readers treat U+2028 and U+2029 as line ends.
            case "\0"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}":
                result += String(format: "\\u%04x", scalar.value)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

extension JSONLine.Value {
    fileprivate var text: String {
        switch self {
        case .text(let text): JSONLine.quoted(text)
        case .integer(let value): "\(value)"
        case .number(let value): value.isFinite ? "\(value)" : "null"
        case .bool(let value): "\(value)"
        case .object(let text): text
        case .null: "null"
        }
    }
}
