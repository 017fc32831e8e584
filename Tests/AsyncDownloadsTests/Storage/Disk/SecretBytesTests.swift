internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The claims of a checkpoint and its marks about bytes that were received with secret headers (rule 9).
@Suite("Bytes of a user in a partial file", .endsWhenHung)
struct SecretBytesTests {
    private let directory: TemporaryDirectory
    /// A store whose partials can be opened again without being closed, as after a kill.
    private let store = PartialStore(
        disk: PretendingFileSystem(locks: .pretended), durability: .processCrash, bootID: "one")

    init() throws { directory = try TemporaryDirectory() }

    private var location: PartialLocation {
        var location = directory.location
        location.secretHeaders = ["Authorization": "mine"]
        return location
    }

    /// Leaves 300 bytes that were received without secret headers.
    private func leaveAnonymousBytes() throws {
        let partial = try store.open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<300)
        try partial.save(IntervalSet(0..<300))
        partial.close()
    }

    /// Returns the bytes that a request without secret headers continues without a proof.
    private func continuedAnonymously() throws -> IntervalSet {
        guard case .bytes(let representation, let received) = try store.open(directory.location).finding else {
            return IntervalSet()
        }
        return representation.hasUnverifiedCredentials ? IntervalSet() : received
    }

    @Test(arguments: [false, true])
    func `after a kill, bytes of a user are not continued without a proof`(_ isConfirmed: Bool) throws {
        try leaveAnonymousBytes()
        let partial = try store.open(location)
        if isConfirmed { partial.confirmCredentials() }
        try partial.write(.first, 300..<600)
        partial.mark(IntervalSet(0..<600))
        #expect(try continuedAnonymously() == IntervalSet(0..<300))
    }

    @Test func `marks say what a checkpoint with the user's headers does not`() throws {
        try leaveAnonymousBytes()
        let partial = try store.open(location)
        try partial.save(IntervalSet(0..<300))
        try partial.write(.first, 300..<600)
        partial.mark(IntervalSet(0..<600))
        guard case .bytes(let representation, IntervalSet(0..<600)) = try store.open(directory.location).finding else {
            Issue.record("the marked bytes are lost")
            return
        }
        #expect(representation.hasUnverifiedCredentials)
    }

    @Test(arguments: [false, true])
    func `bytes of a user need a proof, also after his headers are no longer sent`(_ isConfirmed: Bool) throws {
        let partial = try store.open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<300)
        partial.useCredentials(["Authorization": "mine"])
        try partial.write(.first, 300..<600)
        partial.useCredentials([:])
        if isConfirmed { partial.confirmCredentials() }
        try partial.save(IntervalSet(0..<600))
        partial.close()
        #expect(try continuedAnonymously() == (isConfirmed ? IntervalSet(0..<600) : IntervalSet()))
    }
}
