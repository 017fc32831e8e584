internal import Foundation

/// A validator for the keywords of JSON Schema that the schema of the events uses.
struct JSONSchema {
    /// A keyword, or a form of one, that the validator doesn't know.
    struct Unsupported: Error {
        let keyword: String
    }

    private let schema: [String: Any]

    init(_ schema: [String: Any]) {
        self.schema = schema
    }

    /// The schema of the events, which is stored beside the tool.
    static func ofEvents() throws -> Self {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Examples/batch/events.schema.json").standardized
        return Self(try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any] ?? [:])
    }

    /// Returns whether a value is valid.
    func accepts(_ value: Any) throws -> Bool {
        try schema.keys.allSatisfy { try accepts(value, $0) }
    }

    private func accepts(_ value: Any, _ keyword: String) throws -> Bool {
        let object = value as? [String: Any]
        switch (keyword, schema[keyword]) {
        case ("$schema", _), ("title", _): return true
        case ("oneOf", let parts as [[String: Any]]): return try parts.filter { try Self($0).accepts(value) }.count == 1
        case ("type", let name as String): return Self.is(value, name)
        case ("type", let names as [String]): return names.contains { Self.is(value, $0) }
        case ("const", let text as String): return value as? String == text
        case ("enum", let texts as [String]): return (value as? String).map(texts.contains) ?? false
        case ("minimum", let least as NSNumber):
            return (value as? NSNumber).map { $0.doubleValue >= least.doubleValue } ?? true
        case ("pattern", let pattern as String):
            return try (value as? String).map { try $0.contains(Regex(pattern)) } ?? true
        case ("required", let names as [String]): return names.allSatisfy { object?.keys.contains($0) ?? true }
        case ("properties", let properties as [String: [String: Any]]):
            return try properties.allSatisfy { name, schema in
                try object?[name].map { try Self(schema).accepts($0) } ?? true
            }
        case ("additionalProperties", let isPermitted as Bool) where !isPermitted:
            let known = (schema["properties"] as? [String: Any] ?? [:]).keys
            return object?.keys.allSatisfy { known.contains($0) } ?? true
        default: throw Unsupported(keyword: keyword)
        }
    }

    private static func `is`(_ value: Any, _ type: String) -> Bool {
        switch type {
        case "object": value is [String: Any]
        case "string": value is String
        case "null": value is NSNull
        case "boolean": isBoolean(value)
        case "number": value is NSNumber && !isBoolean(value)
        case "integer":
            !isBoolean(value) && (value as? NSNumber).map { $0.doubleValue.rounded() == $0.doubleValue } ?? false
        default: false
        }
    }

    private static func isBoolean(_ value: Any) -> Bool {
        guard let number = value as? NSNumber else { return false }
        return String(cString: number.objCType) == String(cString: NSNumber(value: true).objCType)
    }
}
