public import Foundation

/// Downloads that the system continues while the app is suspended or has ended.
extension Downloader {
    /// A download that an earlier launch of the app started.
    public struct RestoredDownload: Sendable {
        /// The condition of a download that an earlier launch of the app started.
        public enum Condition: Sendable, Hashable {
            /// The system is transferring the file.
            case running
            /// The download is queued.
            case waiting
            /// The download was paused, or the user quit the app in the app switcher.
            case paused
            /// The system has received the file. ``Download/file`` returns it, or throws if it can't be verified or placed.
            case finished
            /// The download ended with an error, which ``Download/file`` throws.
            case failed
            /// The system lost the download. The download is started again; it fails if the system has lost it before.
            case lost
        }

        /// The download, with a new handle.
        public let download: Download
        /// The condition of the download at this launch.
        public let condition: Condition
    }

    /// Creates a downloader whose background session has another service, file system, and clock, for tests.
    package convenience init(configuration: Configuration, backgroundSessions: BackgroundSessions) {
        self.init(
            configuration: configuration,
            transport: configuration.makeTransport(),
            store: PartialStore(durability: configuration.durability), time: SystemTimeSource(),
            backgroundSessions: backgroundSessions)
    }

    /// Returns the downloads of the background session that earlier launches of the app started.
    ///
    /// Call this method at every launch, and again whenever you need the outcomes that have not been received. It
    /// returns as soon as the condition of each download is known, or after a minute. A new request for the URL of one
    /// of these downloads joins it.
    ///
    /// Ended downloads, including failed ones, are returned until the app has received their outcome: by
    /// ``Download/file``, by a batch, or by ``Download/acknowledge()``. A handle, a loop over ``Download/events``, and
    /// an observer don't count. Up to 500 received files are remembered for 30 days: a new request for the same
    /// resource and destination returns such a file without a transfer if the file still exists and is unchanged. To
    /// fetch the resource again, remove the file first.
    ///
    /// If another process uses the session at present, the tasks of the system can't be queried, and the result is
    /// based on the journal alone. Without a background session, the result is empty.
    ///
    /// - Throws: ``DownloadError/Code/journalUnreadable`` if the journal can't be read, for example before the first
    ///   unlock of the device; ``DownloadError/Code/sessionInUse`` if another downloader uses the session;
    ///   ``DownloadError/Code/invalidRequest`` if no download could end with the options of the session; and
    ///   ``DownloadError/Code/unsupported`` on a platform without background sessions.
    public func restored() async throws(DownloadError) -> [RestoredDownload] {
        guard let background else { return [] }
        return try await background.openSession.get().restored().map { item in
            RestoredDownload(
                download: Download(item.id, item.request, .joined(item.transfer, item.subscriber), of: self),
                condition: RestoredDownload.Condition(item.condition))
        }
    }

    /// Handles the events for which the system launched or resumed the app, and returns when their files are in place.
    ///
    /// Call this method from `application(_:handleEventsForBackgroundURLSession:)` or from SwiftUI's
    /// `backgroundTask(.urlSession(_:))`. If no downloader for the session exists, the session is created with the
    /// options that were last used.
    ///
    /// Downloads may still be running when this method returns.
    ///
    /// - Parameter identifier: The identifier that the system passes.
    /// - Returns: Whether the session belongs to this package. If not, let its owner handle the events.
    @discardableResult
    public static func handleEvents(forBackgroundSession identifier: String) async -> Bool {
        await BackgroundSessions.shared.handleEvents(for: identifier)
    }

    /// Handles events like ``handleEvents(forBackgroundSession:)``, and then calls the system's completion handler.
    ///
    /// - Parameters:
    ///   - identifier: The identifier that the system passes.
    ///   - completionHandler: The system's completion handler, which is called once on the main thread, and only if the
    ///     session belongs to this package.
    /// - Returns: Whether the session belongs to this package.
    @MainActor
    public static func handleEvents(
        forBackgroundSession identifier: String, completionHandler: @escaping @MainActor @Sendable () -> Void
    ) -> Bool {
        BackgroundSessions.shared.handleEvents(for: identifier, then: completionHandler)
    }
}

/// The transfer of downloads between a background session and this process.
extension Downloader {
    /// Continues a download of a background session in this process, for example because the user is waiting for it.
    ///
    /// The system's task is canceled, and its bytes are imported as by ``adopt(_:as:temporaryFileIn:responseDate:)``.
    /// Bytes that the session has adopted itself (``adopt(_:as:partialFileIn:)``) are fetched again. The handles of the
    /// background download then end with ``DownloadError/Code/superseded``.
    ///
    /// - Parameters:
    ///   - download: A download of another downloader that has a background session.
    ///   - directory: The directory of the system's temporary files; `nil` searches where the system keeps them.
    /// - Returns: The download in this process; `download` itself if it has already ended.
    /// - Throws: ``DownloadError/Code/unsupported`` if this downloader has a background session, or if `download`
    ///   doesn't belong to a background session; and the errors of ``adopt(_:as:temporaryFileIn:responseDate:)``. If an
    ///   error is thrown, the background download remains, paused.
    @discardableResult
    public func adopt(
        _ download: Download, temporaryFileIn directory: URL? = nil
    ) async throws(DownloadError) -> Download {
        guard background == nil, let transfer = download.backgroundTransfer else {
            throw DownloadError(
                .unsupported, "only a download of a background session can be continued in the foreground",
                url: download.request.url)
        }
        guard case .stopped(let bytes) = try await transfer.session.withdraw(transfer) else { return download }
        let adopted: Download
        if let bytes {
            let resumeData = try ResumeData(Data(bytes))
            adopted = try await adopt(
                resumeData, as: download.request,
                temporaryFileIn: directory ?? ResumeData.directoryOfBackgroundFile(resumeData.temporaryFileName))
        } else {
            adopted = start(download.request)
            // Otherwise, nothing would be left of the download.
            if case .refused(let error) = adopted.source { throw error }
        }
        await transfer.session.remove(transfer)
        return adopted
    }

    /// Continues the bytes of a download of another downloader in the background session.
    func adoptInBackground(
        _ request: DownloadRequest,
        _ open: @escaping @Sendable (any FileSystem) throws(DownloadError) -> ImportedFile
    ) async throws(DownloadError) -> Download {
        let download = startDownload(request, isRunning: false)
        if case .refused(let error) = download.source { throw error }
        guard let transfer = download.backgroundTransfer else {
            preconditionFailure("a downloader with a background session has made a transfer")
        }
        do throws(DownloadError) {
            try await transfer.session.importBase(for: transfer, open)
        } catch {
            download.cancel()
            throw error
        }
        download.resume()
        return download
    }

    /// Renames the journal of the background session if it is damaged, and forgets its downloads.
    ///
    /// Requests of a session whose journal is damaged fail with ``DownloadError/Code/journalUnreadable``, and the
    /// journal is never overwritten. After this method, the session can be used again. Tasks that the system still has
    /// are ignored. A journal that may become readable, for example after the first unlock of the device, isn't
    /// renamed.
    ///
    /// - Returns: Whether the journal was damaged.
    /// - Throws: A ``DownloadError`` if the session is used by another downloader, or the journal can't be renamed.
    @discardableResult
    public func removeDamagedJournal() async throws(DownloadError) -> Bool {
        guard let background else { return false }
        return try await background.openSession.get().removeDamagedJournal()
    }
}

extension BackgroundSessions {
    /// Handles the events of a session, and then calls `completionHandler` once on the main thread.
    @MainActor
    func handleEvents(
        for identifier: String, then completionHandler: @escaping @MainActor @Sendable () -> Void
    ) -> Bool {
        guard let (session, generation) = session(for: identifier) else { return false }
        Task { @MainActor in
            await session.eventsDelivered(generation: generation)
            completionHandler()
        }
        return true
    }
}

extension Downloader.RestoredDownload.Condition {
    init(_ condition: RestoredItem.Condition) {
        switch condition {
        case .running: self = .running
        case .waiting: self = .waiting
        case .paused: self = .paused
        case .finished: self = .finished
        case .failed: self = .failed
        case .lost: self = .lost
        }
    }
}

/// The background session that a configuration chooses.
struct BackgroundSessionChoice: Sendable, Hashable {
    var identifier: String
    var options: BackgroundOptions
}

extension Downloader.Configuration {
    /// Returns a configuration for downloads that the system continues while the app is suspended or has ended.
    ///
    /// The downloads are carried out by a background `URLSession`. Of the other settings, ``retryPolicy`` (only its
    /// number of retries), ``networkAccess``, ``duplicatePolicy``, ``abandonmentPolicy``, ``progressInterval``,
    /// ``fileAttributes``, and the settings of the log apply. The count of retries restarts at zero when the system has
    /// kept new bytes; after ten times the permitted number in total, a download fails in any case. Downloads into
    /// memory, and requests with an idle timeout, a deadline, or a secret header fail with
    /// ``DownloadError/Code/unsupported``. ``DownloadRequest/refreshURL`` is called when a server has refused the URL,
    /// if a handle to the download exists. ``DownloadRequest/urlExpiration``, ``DownloadRequest/connectionCount``,
    /// ``DownloadRequest/contentChangePolicy``, and ``DownloadRequest/partialInUsePolicy`` have no effect.
    ///
    /// A received file is remembered for some time: the same request returns it without a transfer while it exists
    /// unchanged; see ``Downloader/restored()``.
    ///
    /// On Linux, every request fails with ``DownloadError/Code/unsupported``. Use
    /// ``Downloader/restore(in:includingSubdirectories:prepare:)`` there to continue downloads after a restart of the
    /// process.
    ///
    /// - Parameters:
    ///   - identifier: The identifier of the session, which must be the same at each launch and unique in the app.
    ///   - options: The settings of the session.
    public static func background(
        identifier: String, options: BackgroundOptions = BackgroundOptions()
    ) -> Self {
        var configuration = Self()
        configuration.backgroundSession = BackgroundSessionChoice(identifier: identifier, options: options)
        return configuration
    }
}

extension BackgroundClient {
    convenience init(
        _ choice: BackgroundSessionChoice, _ configuration: Downloader.Configuration, in sessions: BackgroundSessions
    ) {
        self.init(
            choice.identifier,
            BackgroundSession.ClientSettings(
                options: choice.options, abandonment: configuration.abandonmentPolicy,
                duplicates: configuration.duplicatePolicy, retries: configuration.retryPolicy,
                networkAccess: configuration.networkAccess, fileAttributes: configuration.fileAttributes,
                progressInterval: configuration.progressInterval, log: configuration.log),
            in: sessions)
    }

    /// Starts a download, or returns the error of the request or the session.
    func start(_ request: DownloadRequest, _ id: Download.ID, isRunning: Bool) -> Download.Start {
        let started = openSession.flatMap { $0.start(id, request, isRunning: isRunning) }
        switch started.concerning(request.url) {
        case .success(let joined):
            return .joined(joined.transfer, joined.subscriber, isCoalesced: joined.isCoalesced)
        case .failure(let error):
            return .refused(error)
        }
    }

    /// Pauses or resumes every download that has a handle.
    func setAllPaused(_ isPaused: Bool) {
        if case .success(let session) = openSession { session.setAllPaused(isPaused) }
    }
}

extension Download {
    /// The transfer, or `nil` if the request was refused or this process performs the transfer.
    var backgroundTransfer: BackgroundTransfer? {
        subscription?.transfer as? BackgroundTransfer
    }
}
