/// Starting and restarting downloads.
extension Downloader {
    /// Starts a download, which is paused if `isRunning` is false.
    ///
    /// - Parameter unfinished: The bytes of the request that are known to be on disk, if any.
    func startDownload(
        _ request: DownloadRequest, id: Download.ID = Download.ID(), isRunning: Bool = true,
        continuing unfinished: UnfinishedPartial? = nil
    ) -> Download {
        guard background == nil else {
            return Download(id, request, start(request, id, isRunning: isRunning), of: self)
        }
        return startInProcess(request, id: id, isRunning: isRunning, continuing: unfinished)
    }

    /// Attaches a request to a transfer of the background session or, without one, of this process.
    ///
    /// - Parameter fresh: Another URL of the resource, which a background session doesn't use.
    private func start(
        _ request: DownloadRequest, _ id: Download.ID, isRunning: Bool = true, at fresh: FreshURL? = nil
    ) -> Download.Start {
        guard let background, configurationError == nil else {
            return begin(request, id, isRunning: isRunning, at: fresh)
        }
        return background.start(request, id, isRunning: isRunning)
    }

    /// Starts a download in this process, even if the downloader has a background session.
    func startInProcess(
        _ request: DownloadRequest, id: Download.ID = Download.ID(), isRunning: Bool = true,
        continuing unfinished: UnfinishedPartial? = nil
    ) -> Download {
        let request = completed(request)
        return Download(
            id, request, begin(request, id, isRunning: isRunning, continuing: unfinished), of: self)
    }

    /// Starts an ended download again.
    ///
    /// - Parameter fresh: The URL that replaces the URL of the request, if any; the resource keeps its identity.
    func restart(_ download: Download, at fresh: FreshURL?) -> Download.Start {
        var request = download.request
        (request.priority, request.networkAccess) = (download.priority, download.networkAccess)
        if download.subscription != nil { request.bandwidthLimit = download.bandwidthLimit }
        if let fresh { request.urlExpiration = fresh.expiration }
        return start(request, download.id, at: fresh)
    }

    /// Returns the request with the downloader's limit if it is a download into memory without a limit.
    private func completed(_ request: DownloadRequest) -> DownloadRequest {
        guard request.destination == .memory, request.maximumByteCount == nil else { return request }
        var request = request
        request.maximumByteCount = configuration.maximumDataByteCount
        return request
    }

    /// Attaches a request to a transfer.
    private func begin(
        _ request: DownloadRequest, _ id: Download.ID, isRunning: Bool = true,
        continuing unfinished: UnfinishedPartial? = nil, at fresh: FreshURL? = nil
    ) -> Download.Start {
        if let error = configurationError { return .refused(error.concerning(request.url)) }
        if let error = request.validationError { return .refused(error) }
        environment.network.start()
        let key = TransferKey(request).digest
        let joined = environment.registry.join(
            key, id, request, environment.policies(of: request),
            policy: request.duplicatePolicy ?? configuration.duplicatePolicy, isRunning: isRunning
        ) { number in
            let transfer = TransferSlot(
                number: number, keyDigest: key, downloadID: id, request: request, environment: environment,
                continuing: unfinished)
            // The URL is replaced before the first request is sent.
            if let fresh { transfer.replaceURL(with: fresh) }
            return transfer
        }
        switch joined.concerning(request.url) {
        case .success(let joined):
            if isRunning { environment.suspensionGuard?.transferStarted() }
            return .joined(joined.transfer, joined.subscriber, isCoalesced: joined.isCoalesced)
        case .failure(let error):
            return .refused(error)
        }
    }
}
