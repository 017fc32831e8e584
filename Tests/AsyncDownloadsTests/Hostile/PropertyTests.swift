import AsyncDownloads
import Foundation
import TestSupport
import Testing

/// A short run of the properties that the fuzzers check for hours.
@Suite("Properties of the parsers", .endsWhenHung)
struct PropertyTests {
    @Test(arguments: Property.all)
    func `a property holds for generated field values`(_ property: Property) {
        var generator = SplitMix64(seed: 9110)
        for _ in 0..<200 {
            let input = generator.fieldValue()
            #expect(throws: Never.self, "\(input.debugDescription)") { try property.check(Array(input.utf8)) }
        }
    }

    @Test(arguments: Property.all)
    func `a property holds for the seeds of its fuzzer, also with a changed byte`(_ property: Property) throws {
        let seeds = try Self.seeds(of: property)
        #expect(!seeds.isEmpty)
        var generator = SplitMix64(seed: 9112)
        for seed in seeds {
            #expect(throws: Never.self, "\(seed)") { try property.check(Array(seed.utf8)) }
            for _ in 0..<40 {
                var bytes = Array(seed.utf8)
                let index = Int.random(in: bytes.indices, using: &generator)
                bytes[index] = UInt8.random(in: .min ... .max, using: &generator)
                #expect(throws: Never.self, "\(bytes)") { try property.check(bytes) }
            }
        }
    }

    /// Returns the lines of a property's seed file, with `\n` and `\\` unescaped; other escapes are kept as they are.
    private static func seeds(of property: Property) throws -> [String] {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let file = tests.deletingLastPathComponent().appending(path: "Fuzzing/Seeds/\(property.name).txt")
        let text = try String(contentsOf: file, encoding: .utf8)
        return text.split(separator: "\n").map { String($0).replacing("\\n", with: "\n").replacing("\\\\", with: "\\") }
    }
}
