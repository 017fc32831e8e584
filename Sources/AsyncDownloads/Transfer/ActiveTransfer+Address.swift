internal import Foundation

/// The URL of the resource, as supplied by subscribers.
extension ActiveTransfer {
    /// Continues with another URL of the resource.
    func replaceURL(with fresh: FreshURL) {
        let (now, date) = (now, environment.time.date)
        input { machine in
            let address = SourceAddress.Replacement(
                fresh, replacing: machine.address.headers, at: now, date: date)
            return machine.replaceAddress(address, at: now)
        }
    }

    /// Returns the URL and the headers with which `request` fetches the resource.
    func address(of request: DownloadRequest, at now: Duration) -> SourceAddress.Replacement? {
        guard let url = URL(string: TransferKey(request).url) else { return nil }
        return SourceAddress.Replacement(
            url: url, headers: request.callerHeaders,
            credentialOrigins: Set(request.credentialOrigins.compactMap { Origin(text: $0) }),
            expiresAt: request.urlExpiration.map { environment.time.date.duration(to: $0) + now })
    }

    /// Asks the first subscriber that can supply a fresh URL, once for all subscribers.
    func refreshURL(_ context: URLRefresh.Context, _ id: RefreshID) {
        let closure = withState { state in
            state.subscribers.active.lazy.compactMap(\.subscriber.request.refreshURL).first
        }
        // The subscriber's closure is asynchronous, but actions are not. One task exists for each request for a fresh
        // URL; the state keeps the task so that it can be canceled.
        let task = Task { [self] in
            let result = await fresh(from: closure, context)
            input { $0.supplied(result.map { .address($0) }, id, at: now) }
        }
        update { state, _ in state.scheduled.setRefresh(task) }
    }

    /// Asks the first subscriber whose secret headers may be sent to the URL, once for all subscribers.
    func authorize(_ request: AuthorizationRequest, _ id: RefreshID) {
        let origin = Origin(request.url)
        let requests = withState { state in state.subscribers.active.map(\.subscriber.request) }
        let supplier = requests.lazy.compactMap { request in
            request.authorizer.map { ($0.body, request.authorizedOrigins) }
        }
        .first { _, origins in origin.map(origins.contains) ?? false }
        // As with fresh URLs, one task exists for each request, and the state keeps it.
        let task = Task { [self] in
            let result: Result<TransferStateMachine.Supply, DownloadError>
            do {
                var answer = Authorization.Answer()
                if let (body, origins) = supplier {
                    answer = .init(fields: try await body(request), origins: origins)
                }
                let fault = answer.fields.validationError
                result = fault.map { .failure($0) } ?? .success(.authorization(answer))
            } catch {
                result = .failure(DownloadError(.authorizationFailed, underlyingError: error))
            }
            input { $0.supplied(result, id, at: now) }
        }
        update { state, _ in state.scheduled.setRefresh(task) }
    }

    private func fresh(
        from closure: URLRefresh?, _ context: URLRefresh.Context
    ) async -> Result<SourceAddress.Replacement, DownloadError> {
        guard let closure else {
            return .failure(
                DownloadError(.urlRefreshFailed, "no subscriber that can provide a fresh URL is left"))
        }
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
    /// Creates a replacement from a fresh URL, with its expiration converted to the state machine's clock.
    init(_ fresh: FreshURL, replacing present: CallerHeaders, at now: Duration, date: HTTPDate) {
        let names = fresh.nonsecretHeaders ?? present.nonsecretNames
        self.init(
            url: fresh.url,
            headers: fresh.headers.map {
                CallerHeaders($0, nonsecretNames: names, authorizer: present.authorizer)
            },
            expiresAt: fresh.expiration.map { date.duration(to: $0) + now })
    }
}
