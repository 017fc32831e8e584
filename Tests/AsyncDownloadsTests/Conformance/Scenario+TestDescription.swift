import ConformanceRows
import Testing

extension Scenario: CustomTestStringConvertible {
    package var testDescription: String { "rules \(rules.map(String.init).joined(separator: ", ")): \(name)" }
}
