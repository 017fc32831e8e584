/// The secret headers with which the bytes were received.
extension PartialFile {
    /// Sets the secret headers that are sent from now on.
    ///
    /// If the headers change, a later opening requires a proof of the bytes, whatever its headers are, until
    /// ``confirmCredentials()`` is called: if only a checksum verifies the file, it may contain bytes of two users.
    package func useCredentials(_ headers: HeaderFields) {
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
    package func confirmCredentials() {
        let (file, headers) = withState { state in
            (state.provenHeaders, state.isMixed) = (state.secretHeaders, false)
            state.hasSecretBytes = !state.secretHeaders.isEmpty
            return (state.file, state.secretHeaders)
        }
        if let file { CredentialLedger.shared.note(headers, for: file.claim.token) }
    }
}
