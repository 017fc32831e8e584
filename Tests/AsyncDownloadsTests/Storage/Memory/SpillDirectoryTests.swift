internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of the directory for bodies that have to leave memory.
@Suite(.endsWhenHung)
struct SpillDirectoryTests {
    @Test(
        arguments: [
            (nil, "async-downloads"), ("com.example.app", "com.example.app.async-downloads"),
        ] as [(String?, String)])
    func `each bundle has its own directory`(identifier: String?, name: String) {
        let directory = SpilledBodies.directory(
            in: URL(fileURLWithPath: "/caches", isDirectory: true), bundleIdentifier: identifier)
        #expect(directory.path == "/caches/\(name)")
    }
}
