import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of the comparison of any file with a checksum.
@Suite(.endsWhenHung)
struct ChecksumMatchingTests {
    private static func checksum(_ content: Content) throws -> Checksum {
        let digest = try #require(RunningDigest.sha256(of: [UInt8](content.bytes(in: 0..<content.length))))
        return .sha256(hexadecimal(digest))
    }

    @Test func `a checksum is compared with a file`() async throws {
        try await TestEnvironment.with { environment async throws in
            let (content, other) = (Content(seed: 61, length: 300_000), Content(seed: 62, length: 300_000))
            let file = environment.directory.appending(path: "file.bin")
            try Data(content.bytes(in: 0..<content.length)).write(to: file)
            let checksum = try Self.checksum(content)
            #expect(try await checksum.matches(contentsOf: file))
            #expect(try await Self.checksum(other).matches(contentsOf: file) == false)
            let link = environment.directory.appending(path: "link")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
            #expect(try await checksum.matches(contentsOf: link))
            for (bad, code) in [
                (environment.directory.appending(path: "missing"), DownloadError.Code.destinationUnusable),
                (environment.directory, .destinationUnusable),
            ] {
                let error = await #expect(throws: DownloadError.self) { try await checksum.matches(contentsOf: bad) }
                #expect(error?.code == code)
            }
            let error = await #expect(throws: DownloadError.self) {
                try await Checksum.sha256("12").matches(contentsOf: file)
            }
            #expect(error?.code == .invalidRequest)
            let canceled = await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await #expect(throws: DownloadError.self) { try await checksum.matches(contentsOf: file) }
            }.value
            #expect(canceled?.code == .cancelled)
        }
    }
}
