internal import Dispatch

/// One background session of this process: its downloads, its journal, and its connection to the system.
///
/// The session exists until the process ends, because the system permits only one for each identifier. Downloaders use
/// it one after another, as its clients. Commands and events are processed in order on one queue, which may block on
/// the disk; the system's callbacks only secure files and add to the queue.
final class BackgroundSession: Sendable {
    /// The settings of the client's configuration that apply to all of its downloads.
    struct ClientSettings: Sendable {
        var options: BackgroundOptions
        var abandonment = AbandonmentPolicy.pause
        var duplicates = DuplicatePolicy.coalesce
        var retries = RetryPolicy.default
        var networkAccess = NetworkAccess()
        var fileAttributes = FileAttributes()
        var progressInterval = Duration.milliseconds(100)
        var log = Log()
    }

    typealias Command = @Sendable (BackgroundWorker) -> [BackgroundCore.Action]

    private struct Entry {
        let command: Command
        let refused: @Sendable (DownloadError) -> Void
    }

    let identifier: String
    let environment: BackgroundEnvironment
    private let queue: DispatchQueue
    private let inbox = Mutex<[Entry]>([])
    private let transfers = Mutex<[TransferKey: BackgroundTransfer]>([:])
    private let settings: Mutex<ClientSettings?>
    private let worker: BackgroundWorker
    private let observation = Mutex<(any ScheduledAction)?>(nil)

    init(identifier: String, environment: BackgroundEnvironment, settings: ClientSettings?) {
        self.identifier = identifier
        self.environment = environment
        self.settings = Mutex(settings)
        queue = DispatchQueue(label: "async-downloads.background.\(identifier)", qos: .utility)
        worker = BackgroundWorker(identifier: identifier, environment: environment)
        let observation = environment.lifecycle.observe { [weak self] change in
            self?.submit { $0.lifecycleChanged(change) }
        }
        self.observation.withLock { $0 = observation }
    }

    /// The settings of the present client, or nil without a client.
    var clientSettings: ClientSettings? { settings.withLock { $0 } }

    /// Sets the settings of the present client, and connects to the system if downloads are recorded.
    func use(_ settings: ClientSettings?) {
        self.settings.withLock { $0 = settings }
        if let settings { submit { $0.use(settings) } }
    }

    /// Processes a command on the queue, after all earlier commands.
    ///
    /// Pending commands are recorded together, so that a thousand requests cost only a few syncs.
    ///
    /// - Parameter refused: A closure that is called instead if the session can't be opened.
    func submit(_ command: @escaping Command, refused: @escaping @Sendable (DownloadError) -> Void = { _ in }) {
        inbox.withLock { $0.append(Entry(command: command, refused: refused)) }
        queue.async { [self] in drain() }
    }

    private func drain() {
        let entries = inbox.withLock { entries in
            defer { entries = [] }
            return entries
        }
        guard !entries.isEmpty else { return }
        do throws(DownloadError) {
            try worker.open(self, options: clientSettings?.options)
        } catch {
            for entry in entries { entry.refused(error) }
            return
        }
        worker.readChangesOfOtherProcesses()
        for entry in entries { worker.enqueue(entry.command(worker)) }
        worker.flush()
    }

    /// Waits until everything that was submitted earlier has been processed.
    func settled() async {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume() }
        }
    }

    // MARK: Handles

    /// A request that has become a subscriber.
    struct Joined: Sendable {
        let transfer: BackgroundTransfer
        let subscriber: SubscriberID
        /// Whether the resource already had active handles.
        let isCoalesced: Bool
        /// The subscribers that have ended because of this one.
        var superseded: [SubscriberID] = []
    }

    /// Starts a download, or joins the download of the same resource.
    func start(_ id: DownloadID, _ request: DownloadRequest, isRunning: Bool) -> Result<Joined, DownloadError> {
        guard let settings = clientSettings else { return .failure(DownloadError(.shutDown)) }
        if let error = request.validationError ?? request.backgroundValidationError { return .failure(error) }
        if environment.makeDaemon == nil {
            return .failure(environment.unsupported)
        }
        let policy = request.duplicatePolicy ?? settings.duplicates
        guard let joined = join(id, request, isRunning: isRunning, policy: policy) else {
            return .failure(DownloadError(.duplicate))
        }
        let retryCount = (request.retryPolicy ?? settings.retries).maximumRetries
        submit { worker in
            worker.join(
                joined.transfer, joined.subscriber, id, request, settings.fileAttributes, isRunning: isRunning,
                maximumRetryCount: retryCount)
        } refused: { error in
            joined.transfer.end(joined.subscriber, error)
        }
        // Superseded subscribers leave after the new destination was recorded, so that the task continues.
        for id in joined.superseded { left(joined.transfer, id, keepingBytes: true) }
        return .success(joined)
    }

    /// Attaches a request to the handles of its resource; nil if the policy doesn't permit a second request.
    func join(
        _ downloadID: DownloadID, _ request: DownloadRequest, isRunning: Bool, policy: DuplicatePolicy = .coalesce
    ) -> Joined? {
        let key = TransferKey(request)
        let result = transfers.withLock { transfers -> Joining? in
            let present = transfers[key]
            let isBusy = present.map { !$0.isIdle } ?? false
            if isBusy, policy.kind == .reject { return nil }
            let transfer = present ?? BackgroundTransfer(key: key, session: self)
            transfers[key] = transfer
            let isSuperseding = isBusy && policy.kind == .cancelExisting
            let superseded = isSuperseding ? transfer.activeSubscribers : []
            let (id, effects) = transfer.attach(
                downloadID, request,
                networkAccess: request.networkAccess ?? clientSettings?.networkAccess ?? NetworkAccess(),
                isRunning: isRunning, isSuperseding: isSuperseding)
            let joined = Joined(
                transfer: transfer, subscriber: id, isCoalesced: isBusy, superseded: superseded)
            return Joining(joined: joined, effects: effects)
        }
        for effect in result?.effects ?? [] { effect() }
        return result?.joined
    }

    private struct Joining {
        let joined: Joined
        let effects: [DeferredEffect]
    }

    /// Removes the handles of a resource if none of them is waiting for an outcome.
    func removeIfIdle(_ transfer: BackgroundTransfer) -> Bool {
        transfers.withLock { transfers in
            guard transfer.isIdle else { return false }
            if transfers[transfer.key] === transfer { transfers[transfer.key] = nil }
            return true
        }
    }

    /// Informs the worker that subscribers were paused or resumed.
    func demandChanged(_ transfer: BackgroundTransfer) {
        submit { $0.demandChanged(transfer) }
    }

    /// Informs the worker that the networks permitted by the subscribers have changed.
    func networkAccessChanged(_ transfer: BackgroundTransfer) {
        submit { $0.networkAccessChanged(transfer) }
    }

    /// Informs the worker that a subscriber was canceled.
    func left(_ transfer: BackgroundTransfer, _ id: SubscriberID, keepingBytes: Bool) {
        let policy = clientSettings?.abandonment ?? .pause
        submit { $0.left(transfer, id, keepingBytes: keepingBytes, policy: policy) }
    }

    /// Informs the worker that a subscriber that has ended without a file was discarded.
    func discarded(_ transfer: BackgroundTransfer, _ id: SubscriberID) {
        submit { $0.discarded(transfer, id) }
    }

    /// The resources that have had a handle in this process, and whose handles haven't all ended.
    var presentTransfers: [BackgroundTransfer] { transfers.withLock { Array($0.values) } }

    /// Whether the handles of the resource haven't all ended.
    func isPresent(_ transfer: BackgroundTransfer) -> Bool {
        transfers.withLock { $0[transfer.key] === transfer }
    }

    /// Pauses or resumes every download that has a handle in this process.
    func setAllPaused(_ isPaused: Bool) {
        for transfer in presentTransfers {
            for id in transfer.activeSubscribers { isPaused ? transfer.pause(id) : transfer.resume(id) }
        }
    }

    /// Ends all handles and releases the session from its client; the system's tasks continue.
    func shutDown() async {
        settings.withLock { $0 = nil }
        let all = transfers.withLock { transfers in
            defer { transfers = [:] }
            return Array(transfers.values)
        }
        for transfer in all { transfer.end(nil, DownloadError(.shutDown)) }
        submit { worker in
            worker.forgetHandles()
            return []
        }
        await settled()
    }

    /// Returns the downloads in the journal, as soon as the fate of each is known.
    func restored() async throws(DownloadError) -> [RestoredItem] {
        let result: Result<[RestoredItem], DownloadError> = await withCheckedContinuation { continuation in
            submit { worker in
                worker.whenDecided { continuation.resume(returning: .success(worker.restoredItems())) }
            } refused: { error in
                continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }

    /// Waits until the session of a generation has delivered all of its events, and their files are in place.
    ///
    /// The wait ends after `limit`, because the system terminates an app that takes much longer.
    func eventsDelivered(generation: Int, limit: Duration = .seconds(25)) async {
        await withCheckedContinuation { continuation in
            let once = OneTime { continuation.resume() }
            let timer = environment.time.schedule(after: limit) { once() }
            submit { worker in
                worker.whenDelivered(generation) {
                    timer.cancel()
                    once()
                }
            } refused: { _ in
                timer.cancel()
                once()
            }
        }
    }
}

extension BackgroundSession {
    /// Renames a damaged journal; returns false if the journal isn't damaged.
    func removeDamagedJournal() async throws(DownloadError) -> Bool {
        let result: Result<Bool, DownloadError> = await withCheckedContinuation { continuation in
            queue.async { [worker] in
                continuation.resume(
                    returning: Result { () throws(DownloadError) in try worker.removeDamagedJournal() })
            }
        }
        return try result.get()
    }
}

/// A closure that is called only once, by the first caller.
private final class OneTime: Sendable {
    private let body: Mutex<(@Sendable () -> Void)?>

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = Mutex(body)
    }

    func callAsFunction() {
        let body = self.body.withLock { body in
            defer { body = nil }
            return body
        }
        body?()
    }
}

/// A download that an earlier process has left, with a new handle.
struct RestoredItem: Sendable {
    enum Condition: Sendable, Hashable {
        case running, waiting, paused, finished, failed, lost
    }

    let id: DownloadID
    let request: DownloadRequest
    let transfer: BackgroundTransfer
    let subscriber: SubscriberID
    let condition: Condition
}
