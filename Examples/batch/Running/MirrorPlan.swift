internal import AsyncDownloads

/// The order in which the addresses of an item are tried.
///
/// While another address remains, each address is tried with at most one retry, and isn't waited for. Addresses that failed
/// for a temporary reason are tried once more, with all retries. An address that has failed permanently isn't tried again.
struct MirrorPlan: Sendable {
    private var addresses: ArraySlice<Address>
    /// The addresses that failed for a temporary reason.
    private var failed: [Address] = []
    private var isSecondRound = false

    /// The current address.
    private(set) var address: Address

    init(_ item: Item) {
        address = item.address
        addresses = item.mirrors[...]
    }

    /// Whether another address remains that hasn't been tried.
    var hasUntriedAddress: Bool { !isSecondRound && !addresses.isEmpty }

    /// The policy for retries at the current address; nil for the policy of the run.
    func retryPolicy(_ policy: RetryPolicy) -> RetryPolicy? {
        guard hasUntriedAddress else { return nil }
        var short = policy
        short.maximumRetries = min(1, policy.maximumRetries)
        short.endsWhenRefused = true
        return short
    }

    /// Selects the next address; returns false if no address is left to try.
    mutating func advance(after error: DownloadError) -> Bool {
        guard error.concernsServer else { return false }
        if error.isRetryable, !isSecondRound { failed.append(address) }
        if addresses.isEmpty, !isSecondRound {
            // The last address has just used all retries.
            if error.isRetryable { failed.removeLast() }
            (addresses, isSecondRound) = (failed[...], true)
        }
        guard let next = addresses.popFirst() else { return false }
        address = next
        return true
    }
}

extension DownloadError {
    /// Whether another server may not have the problem.
    fileprivate var concernsServer: Bool {
        switch code {
        case .hostNotFound, .cannotConnect, .connectionLost, .timedOut, .secureConnectionFailed, .proxyFailed,
            .httpStatus, .malformedResponse, .contentChanged, .tooManyRedirects, .redirectRefused, .checksumMismatch,
            .bodyTooLarge, .unexpectedByteCount, .unexpectedHTML, .unacceptableMediaType, .responseRefused:
            true
        default: false
        }
    }
}
