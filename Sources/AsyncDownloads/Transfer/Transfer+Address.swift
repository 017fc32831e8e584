internal import Foundation

/// Where the resource is asked for, as callers say.
extension Transfer {
    /// Goes on from another URL.
    func replaceURL(with fresh: FreshURL) {
        let (now, date) = (now, environment.time.date)
        input { machine in
            let address = SourceAddress.Replacement(fresh, replacing: machine.address.headers, at: now, date: date)
            return machine.replaceAddress(address, at: now)
        }
    }

    /// Where `request` asks for the resource.
    func address(of request: DownloadRequest, at now: Duration) -> SourceAddress.Replacement? {
        guard let url = URL(string: TransferKey(request).url) else { return nil }
        let fresh = FreshURL(
            url, expiration: request.urlExpiration, headers: request.headers,
            nonsecretHeaders: request.nonsecretHeaders)
        return .init(fresh, replacing: [:], at: now, date: environment.time.date)
    }

    /// Asks the first caller who can be asked, once for all of them.
    func refreshURL(_ context: URLRefresh.Context, _ id: RefreshID) {
        let closure = withState { state in
            state.subscribers.active.lazy.compactMap(\.subscriber.request.refreshURL).first
        }
        // The caller's closure is asynchronous, and actions are not; one task a request for a fresh URL, which the state
        // keeps for it to be cancelled.
        let task = Task { [self] in
            let result = await fresh(from: closure, context)
            input { $0.refreshed(result, id, at: now) }
        }
        update { state, _ in state.refresh = task }
    }

    private func fresh(
        from closure: URLRefresh?, _ context: URLRefresh.Context
    ) async -> Result<SourceAddress.Replacement, DownloadError> {
        guard let closure else { return .failure(DownloadError(.urlRefreshFailed, "whoever could be asked has left")) }
        do {
            let fresh = try await closure.body(context)
            if let fault = fresh.validationError { return .failure(fault) }
            let present = withState { $0.machine.address.headers }
            return .success(.init(fresh, replacing: present, at: now, date: environment.time.date))
        } catch {
            return .failure(DownloadError(.urlRefreshFailed, underlyingError: error))
        }
    }
}

extension SourceAddress.Replacement {
    /// The fresh URL, its date moved to the machine's clock.
    init(_ fresh: FreshURL, replacing present: CallerHeaders, at now: Duration, date: HTTPDate) {
        let names = fresh.nonsecretHeaders ?? present.nonsecretNames
        self.init(
            url: fresh.url, headers: fresh.headers.map { CallerHeaders($0, nonsecretNames: names) },
            expiresAt: fresh.expiration.map { date.duration(to: $0) + now })
    }
}

extension HTTPDate {
    /// The time from here to `other`; negative when it has passed.
    func duration(to other: Date) -> Duration {
        .seconds(other.timeIntervalSince1970 - Double(secondsSinceEpoch))
    }
}
