public import struct Foundation.URL

/// The unfinished downloads of one URL.
extension Downloader {
    /// Returns a new handle for each unfinished download of `url`.
    ///
    /// A URL matches if its normal form (RFC 9110, 4.2.3) equals the normal form of ``DownloadRequest/url``, ignoring
    /// fragments: `HTTPS://Example.com:443#a` matches `https://example.com/`. The result contains all downloads of the
    /// URL, regardless of their destinations, headers, identities, and accounts. Paused downloads and downloads whose
    /// handles have been released are included. Downloads that share a transfer are in the order in which they started.
    /// URLs of redirects and URLs passed to ``Download/replaceURL(with:)-(URL)`` aren't compared.
    ///
    /// The handles control the same downloads as the handles that ``start(_:)`` returned: pausing or canceling one
    /// affects all handles of that download. Only the first stream of ``Download/events`` that is created for a
    /// download delivers all events since its start.
    ///
    /// With a background session, the result contains the downloads that this process has started or ``restored()`` has
    /// returned.
    ///
    /// The time that this method takes is proportional to the number of unfinished downloads.
    public func downloads(for url: URL) -> [Download] {
        let text = ByteText(TransferKey.url(of: url))
        let isIncluded: (DownloadRequest) -> Bool = {
            $0.purpose == .download && ByteText(TransferKey.url(of: $0.url)) == text
        }
        // All requests that share a transfer have the same URL, unless they have an identity.
        return handles(ofTransfers: { $0.identity != nil || isIncluded($0) }) { isIncluded($1) }
    }

    /// New handles to all unfinished downloads of this process, in the order in which their transfers were started.
    ///
    /// The result includes paused downloads and those whose handles have been released. With a background session, it
    /// contains the downloads that this process has started or ``restored()`` has returned.
    public var downloads: [Download] { handles { $1.purpose == .download } }

    /// Returns a new handle to the unfinished download with this identifier, or `nil` if it doesn't exist.
    ///
    /// The time that this method takes is proportional to the number of unfinished downloads.
    public func download(withID id: Download.ID) -> Download? { handles { other, _ in other == id }.first }

    /// Returns a new handle for each unfinished download that `isIncluded` accepts.
    ///
    /// - Parameter mayServe: A closure that returns false if no download of a transfer with this first request can be
    ///   accepted.
    func handles(
        ofTransfers mayServe: (DownloadRequest) -> Bool = { _ in true },
        where isIncluded: (Download.ID, DownloadRequest) -> Bool
    ) -> [Download] {
        let transfers: [any SubscribedTransfer] =
            background.map(\.presentTransfers) ?? environment.registry.transfers { mayServe($0.request) }
        return transfers.flatMap { transfer in
            transfer.addHandles(where: isIncluded).map { added in
                Download(
                    added.id, added.request,
                    .joined(transfer, added.subscriber, isCoalesced: added.isCoalesced), of: self)
            }
        }
    }

    /// Cancels every unfinished download of `url`, as ``Download/cancel()`` does.
    ///
    /// By default, the received bytes are kept, and the next request for the URL continues from them; see
    /// ``AbandonmentPolicy``. ``downloads(for:)`` describes which downloads have the URL.
    public func cancelDownloads(for url: URL) {
        stopDownloads(for: url) { $0.cancel() }
    }

    /// Pauses every unfinished download of `url`, as ``Download/pause()`` does.
    ///
    /// The received bytes are kept and the event streams stay open. A paused download without a handle that no task
    /// reads or awaits may end, for example under memory pressure; its bytes are kept for the next request, unless
    /// ``MemoryPressurePolicy/discard`` or ``purgePaused(discardingBytes:)`` deletes them. ``downloads(for:)`` describes
    /// which downloads have the URL.
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
    /// The transfers of this process.
    fileprivate var presentTransfers: [BackgroundTransfer] {
        (try? openSession.get())?.presentTransfers ?? []
    }
}
