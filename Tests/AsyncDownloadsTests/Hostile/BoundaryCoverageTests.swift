internal import Foundation
internal import TestSupport
internal import Testing

/// The table of boundaries in `SECURITY.md`, compared with the names of the tests.
@Suite(.endsWhenHung)
struct BoundaryCoverageTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test func `each documented boundary has tests with its number in their names`() throws {
        let table = try String(contentsOf: Self.root.appending(path: "SECURITY.md"), encoding: .utf8)
        let documented = Set(table.matches(of: /(?m)^\| (\d+) \|/).compactMap { Int($0.1) })
        #expect(documented == Set(1...23))
        var tested: Set<Int> = []
        for folder in ["Tests/AsyncDownloadsTests", "Tests/BatchTests", "Tests/LoopbackServerTests"] {
            let path = Self.root.appending(path: folder).path
            let files = try #require(FileManager.default.enumerator(atPath: path))
            for case let file as String in files where file.hasSuffix(".swift") {
                let text = try String(contentsOfFile: "\(path)/\(file)", encoding: .utf8)
                tested.formUnion(text.matches(of: #/["`]boundary (\d+): /#).compactMap { Int($0.1) })
            }
        }
        #expect(documented.subtracting(tested) == [])
        #expect(tested.subtracting(documented) == [])
    }
}
