/// Fresh URLs, which only handles in this process can supply.
extension BackgroundWorker {
    /// Asks the first handle of a download that can supply a fresh URL.
    func refreshURL(
        of record: Int, _ context: URLRefresh.Context, _ refusal: DownloadError
    ) -> [BackgroundCore.Action] {
        guard let session = opened?.session, let refresh = transfers[record]?.urlRefresh else {
            return withCore { $0.urlRefreshed(record, .failure(refusal)) }
        }
        let headers = opened?.core.journal[record]?.resource.headers ?? []
        // The caller's closure is asynchronous, and the session's queue must not wait for it.
        opened?.refreshes[record] = Task {
            let result = await Self.freshURL(from: refresh, context, replacing: headers)
            session.submit { worker in
                worker.opened?.refreshes[record] = nil
                return worker.withCore { $0.urlRefreshed(record, result) }
            }
        }
        return []
    }

    private static func freshURL(
        from refresh: URLRefresh, _ context: URLRefresh.Context, replacing headers: [[String]]
    ) async -> Result<String, DownloadError> {
        let fresh: FreshURL
        do {
            fresh = try await refresh.body(context)
        } catch {
            return .failure(DownloadError(.urlRefreshFailed, underlyingError: error))
        }
        if let fault = fresh.validationError { return .failure(fault) }
        if let other = fresh.headers, other.sortedByName.map({ [$0.name, $0.value] }) != headers {
            return .failure(
                DownloadError(.unsupported, "the headers of a download in a background session cannot be replaced"))
        }
        return .success(TransferKey(url: fresh.url, headers: [:]).url)
    }
}
