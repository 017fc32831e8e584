/// The secret headers with which the bytes were received.
extension DiskPartial {
    func useCredentials(_ headers: HeaderFields) {
        let file = withState { state -> PartialFile? in
            guard state.secretHeaders != headers else { return nil }
            // Bytes of both may be in the file from now on, and at least one of them has secret headers.
            state.hasSecretBytes = true
            state.secretHeaders = headers
            return state.file
        }
        // Where only a checksum verifies the file, it may contain bytes of both.
        if let file { CredentialLedger.shared.forget(file.claim.token) }
    }

    func confirmCredentials() {
        let (file, headers) = withState { state in
            state.hasSecretBytes = !state.secretHeaders.isEmpty
            return (state.file, state.secretHeaders)
        }
        if let file { CredentialLedger.shared.note(headers, for: file.claim.token) }
    }
}
