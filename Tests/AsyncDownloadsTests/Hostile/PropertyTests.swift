import AsyncDownloads
import Foundation
import TestSupport
import Testing

/// What fuzzers try for hours, for a moment in every run of the tests.
@Suite("Properties of the parsers", .endsWhenHung)
struct PropertyTests {
    @Test("hold for three thousand inputs made of what field values are made of", arguments: Property.all)
    func generated(_ property: Property) {
        var generator = SplitMix64(seed: 9110)
        for _ in 0..<3000 {
            let input = generator.fieldValue()
            #expect(throws: Never.self, "\(input.debugDescription)") { try property.check(Array(input.utf8)) }
        }
    }

    @Test("hold for the fuzzers' seeds, and for each with a byte changed", arguments: Property.all)
    func seeds(_ property: Property) throws {
        let seeds = try Self.seeds(of: property)
        #expect(!seeds.isEmpty)
        var generator = SplitMix64(seed: 9112)
        for seed in seeds {
            #expect(throws: Never.self, "\(seed)") { try property.check(Array(seed.utf8)) }
            for _ in 0..<500 {
                var bytes = Array(seed.utf8)
                let index = Int.random(in: bytes.indices, using: &generator)
                bytes[index] = UInt8.random(in: .min ... .max, using: &generator)
                #expect(throws: Never.self, "\(bytes)") { try property.check(bytes) }
            }
        }
    }

    /// Their lines as they are: most have no escapes, and those that have become other inputs.
    private static func seeds(of property: Property) throws -> [String] {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let file = tests.deletingLastPathComponent().appending(path: "Fuzzing/Seeds/\(property.name).txt")
        let text = try String(contentsOf: file, encoding: .utf8)
        return text.split(separator: "\n").map { String($0).replacing("\\n", with: "\n").replacing("\\\\", with: "\\") }
    }
}
