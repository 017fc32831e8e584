/// Remembers, as long as the process lives, with which secret headers the bytes of partial files were received.
///
/// So a download that is continued in the same process with the same headers needs no proof. On disk stands nothing of
/// this, and here stand only hash values of this process.
final class CredentialLedger: Sendable {
    private struct State {
        var hashes: [String: Int] = [:]
        var order: [String] = []
    }

    /// Shared, since one downloader may continue what another one of the process has left.
    static let shared = CredentialLedger()

    private static let capacity = 10_000

    private let state = Mutex(State())

    /// The bytes of the partial file of this token were received with these headers.
    func note(_ headers: HeaderFields, for token: String) {
        state.withLock { state in
            state.hashes[token] = headers.hashValue
            state.order.append(token)
            guard state.order.count > 2 * Self.capacity else { return }
            for token in state.order.prefix(Self.capacity) { state.hashes[token] = nil }
            state.order.removeFirst(Self.capacity)
        }
    }

    /// The bytes of the partial file of this token may be continued with other headers from now on.
    func forget(_ token: String) {
        state.withLock { $0.hashes[token] = nil }
    }

    /// Whether the bytes of the partial file of this token were received with these headers, as far as is known.
    func knows(_ headers: HeaderFields, for token: String) -> Bool {
        state.withLock { $0.hashes[token] } == headers.hashValue
    }
}
