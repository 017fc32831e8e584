/// A record, for the lifetime of the process, of the secret headers with which partial files were received.
///
/// A download that is continued in the same process with the same headers needs no proof. The record isn't written to
/// disk, and contains only hash values that are specific to the process.
final class CredentialLedger: Sendable {
    private struct State {
        var hashes: [String: Int] = [:]
        var order: [String] = []
    }

    /// The ledger of the process; it is shared, because a downloader may continue a partial file of another downloader.
    static let shared = CredentialLedger()

    private static let capacity = 10_000

    private let state = Mutex(State())

    /// Records that the partial file with this token was received with these headers.
    func note(_ headers: HeaderFields, for token: String) {
        state.withLock { state in
            state.hashes[token] = headers.hashValue
            state.order.append(token)
            guard state.order.count > 2 * Self.capacity else { return }
            for token in state.order.prefix(Self.capacity) { state.hashes[token] = nil }
            state.order.removeFirst(Self.capacity)
        }
    }

    /// Removes the record of a partial file that may be continued with other headers.
    func forget(_ token: String) {
        state.withLock { $0.hashes[token] = nil }
    }

    /// Returns whether the partial file with this token is known to have been received with these headers.
    func knows(_ headers: HeaderFields, for token: String) -> Bool {
        state.withLock { $0.hashes[token] } == headers.hashValue
    }
}

/// The secret headers with which the bytes were received.
extension PartialFile {
    /// Sets the secret headers that are sent from now on.
    ///
    /// If the headers change, a later opening requires a proof of the bytes, whatever its headers are, until
    /// ``confirmCredentials()`` is called: if only a checksum verifies the file, it may contain bytes of two users.
    func useCredentials(_ headers: HeaderFields) {
        let file = withState { state -> ClaimedFile? in
            guard state.secretHeaders != headers else { return nil }
            // Bytes of both users may be present from now on, and at least one of them has secret headers.
            (state.hasSecretBytes, state.isMixed) = (true, true)
            state.secretHeaders = headers
            return state.file
        }
        if let file { CredentialLedger.shared.forget(file.claim.token) }
    }

    /// Records that the server has proven the bytes for the credentials of the current request.
    func confirmCredentials() {
        let (file, headers) = withState { state in
            (state.provenHeaders, state.isMixed) = (state.secretHeaders, false)
            state.hasSecretBytes = !state.secretHeaders.isEmpty
            return (state.file, state.secretHeaders)
        }
        if let file { CredentialLedger.shared.note(headers, for: file.claim.token) }
    }
}
