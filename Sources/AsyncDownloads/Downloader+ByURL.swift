public import struct Foundation.URL

/// The unfinished downloads of one URL.
extension Downloader {
    /// Returns a new handle for each unfinished download of `url`.
    ///
    /// A URL matches if its normal form (RFC 9110, 4.2.3) is that of ``DownloadRequest/url``, regardless of fragments:
    /// `HTTPS://Example.com:443#a` matches `https://example.com/`. The result contains all downloads of the URL,
    /// whatever their destinations, headers, identities, and accounts, including paused ones and those whose handles
    /// have been released. It is empty if there are none. Downloads that share a transfer are in the order in which they
    /// started. The URLs of redirects aren't compared, nor are those passed to ``Download/replaceURL(with:)-(URL)``.
    ///
    /// The handles control the same downloads as the handles that ``start(_:)`` has returned: pausing or canceling one
    /// has an effect on all handles of that download. An earlier handle's ``Download/events`` deliver all events since
    /// the start only to the first stream of the download.
    ///
    /// With a background session, the result contains the downloads that this process has started and those that
    /// ``restored()`` has returned.
    ///
    /// The time that this method takes is proportional to the number of unfinished downloads.
    public func downloads(for url: URL) -> [Download] {
        let text = ByteText(TransferKey.url(of: url))
        let isIncluded: (DownloadRequest) -> Bool = { ByteText(TransferKey.url(of: $0.url)) == text }
        if let background { return background.downloads(where: isIncluded) }
        // All requests that share a transfer have one URL, unless they have an identity.
        let transfers = environment.registry.transfers { $0.request.identity != nil || isIncluded($0.request) }
        return transfers.flatMap { transfer in
            transfer.addHandles(where: isIncluded).map { Download($0, of: transfer) }
        }
    }

    /// Cancels every unfinished download of `url`, as ``Download/cancel()`` does.
    ///
    /// By default, the received bytes are kept, and the next request for the URL continues from them; see
    /// ``AbandonmentPolicy``. ``downloads(for:)`` describes which downloads have the URL. If there are none, this method
    /// has no effect.
    public func cancelDownloads(for url: URL) {
        stopDownloads(for: url) { $0.cancel() }
    }

    /// Pauses every unfinished download of `url`, as ``Download/pause()`` does.
    ///
    /// The received bytes are kept and the event streams stay open. Like every paused download, one that has no handle and
    /// that no task reads or awaits may end, for example if memory runs short (``purgePaused(discardingBytes:)``); its
    /// bytes are kept for the next request. ``downloads(for:)`` describes which downloads have the URL.
    public func pauseDownloads(for url: URL) {
        stopDownloads(for: url) { $0.pause() }
    }

    /// Resumes every paused download of `url`, as ``Download/resume()`` does.
    ///
    /// ``downloads(for:)`` describes which downloads have the URL.
    public func resumeDownloads(for url: URL) {
        for download in downloads(for: url) { download.resume() }
    }

    private func stopDownloads(for url: URL, _ stop: (Download) -> Void) {
        let downloads = downloads(for: url)
        // Waiting downloads are stopped first, because a running one releases its permit, which would start them.
        for download in downloads where download.state == .waiting { stop(download) }
        for download in downloads { stop(download) }
    }
}

extension BackgroundClient {
    /// Returns a new handle for each unfinished download of this process whose request is accepted by `isIncluded`.
    fileprivate func downloads(where isIncluded: (DownloadRequest) -> Bool) -> [Download] {
        guard case .success(let session) = openSession else { return [] }
        return session.presentTransfers.flatMap { transfer in
            transfer.addHandles(where: isIncluded).map { Download($0, of: transfer) }
        }
    }
}

extension Download {
    /// Creates the handle that was added to a subscriber.
    fileprivate convenience init(_ added: AddedHandle, of transfer: any SubscribedTransfer) {
        self.init(
            request: added.request, source: .subscriber(added.subscriber, of: transfer), isCoalesced: added.isCoalesced)
    }
}
