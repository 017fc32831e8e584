internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Bytes of a buffered partial that were received with other credentials.
extension BufferedPartialTests {
    private func location(of user: String) -> PartialLocation {
        var location = directory.location
        location.secretHeaders = ["Authorization": user]
        return location
    }

    /// Returns a partial with 400 bytes of the first user.
    private func startAsFirstUser() throws -> PartialFile {
        let partial = try store.open(location(of: "first"))
        try partial.begin(representation(length: 1000))
        try partial.write(.first, 0..<400)
        return partial
    }

    /// The bytes of the first user are removed, so that none need a proof.
    @Test(arguments: [1000, 1_000_000])
    func `a representation begins with the credentials that are sent`(length: Int64) throws {
        let partial = try startAsFirstUser()
        try partial.begin(representation(length: length), with: ["Authorization": "second"])
        // The call of the queue that sets the headers may follow.
        partial.useCredentials(["Authorization": "second"])
        try partial.write(.first, 0..<400)
        try partial.save(IntervalSet(0..<400))
        partial.close()
        for (value, isUnverified) in [("second", false), ("first", true)] {
            let later = try store.open(location(of: value))
            guard case .bytes(let representation, _) = later.finding else {
                Issue.record("no bytes were found")
                continue
            }
            #expect(representation.hasUnverifiedCredentials == isUnverified, "\(value)")
            later.close()
        }
    }

    @Test(arguments: [false, true])
    func `bytes move with the credentials with which they were received or proven`(_ isConfirmed: Bool) throws {
        let partial = try startAsFirstUser()
        partial.useCredentials(["Authorization": "second"])
        if isConfirmed { partial.confirmCredentials() }
        try partial.save(IntervalSet(0..<400))
        partial.close()
        // Without a confirmation, bytes of the second user may follow, so the first one needs a proof as well.
        for (value, isUnverified) in [("second", !isConfirmed), ("first", true)] {
            let later = try store.open(location(of: value))
            if case .bytes(let representation, _) = later.finding {
                #expect(representation.hasUnverifiedCredentials == isUnverified, "\(value)")
            } else {
                Issue.record("no bytes were found")
            }
            later.close()
        }
    }

    @Test func `bytes are unverified for their user after other headers were sent`() throws {
        let partial = try startAsFirstUser()
        partial.useCredentials(["Authorization": "second"])
        // The second user's bytes, which only a checksum verifies.
        try partial.write(.second, 400..<600)
        partial.useCredentials(["Authorization": "first"])
        try partial.save(IntervalSet(0..<600))
        partial.close()
        let later = try store.open(location(of: "first"))
        guard case .bytes(let representation, IntervalSet(0..<600)) = later.finding else {
            Issue.record("\(later.finding)")
            return
        }
        #expect(representation.hasUnverifiedCredentials)
    }
}
