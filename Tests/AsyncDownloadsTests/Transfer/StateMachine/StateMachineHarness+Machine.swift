@testable import AsyncDownloads

/// Shorter access to the machine of a harness.
extension TransferStateMachine {
    /// Sets the policies of the only subscriber.
    mutating func setPolicies(idleTimeout: Duration?, _ retryPolicy: RetryPolicy) {
        var policies = ResolvedPolicies()
        (policies.idleTimeout, policies.retryPolicy) = (idleTimeout, retryPolicy)
        setPolicies(policies)
    }

    /// Sets whether a subscriber can supply a fresh URL.
    mutating func setRefreshable(_ isRefreshable: Bool) {
        var policies = policies
        policies.isRefreshable = isRefreshable
        setPolicies(policies)
    }
}

extension TransferStateMachine {
    /// The timer of the current delay.
    var timer: TimerID? {
        if case .backingOff(let timer, _) = state { return timer }
        guard isRunning else { return nil }
        switch run.step {
        case .delaying(let timer, _), .refreshing(_, let timer): return timer
        case .exchanging, .draining, .moving: return nil
        }
    }

    /// The exchanges that have not ended; none outside of a run.
    var exchanges: ExchangeTable { isRunning ? run.exchanges : ExchangeTable() }

    /// The decisions about extra exchanges, in this run or for the next one.
    var extras: ExtraExchanges {
        isRunning
            ? run.extras
            : formerRun?.value.extras ?? ExtraExchanges(settings.connections, settings.segmentLimits)
    }
}

extension ExchangeTable {
    /// The exchange of a transfer with a single connection.
    var first: ExchangeProgress? { all.first { _ in true }?.exchange }
}

/// The policies of the only subscriber in these tests.
extension TransferSettings {
    var retryPolicy: RetryPolicy {
        get { policies.retryPolicy }
        set { policies.retryPolicy = newValue }
    }

    var idleTimeout: Duration? {
        get { policies.idleTimeout }
        set { policies.idleTimeout = newValue }
    }

    var maximumByteCount: Int64? {
        get { policies.maximumByteCount }
        set { policies.maximumByteCount = newValue }
    }
}
