internal import Foundation

/// The part of a background session that is used only on the session's queue: the core, the journal's file, and the
/// connections to the system.
final class BackgroundWorker: @unchecked Sendable {  // Every member is used on the session's queue only.
    let identifier: String
    let environment: BackgroundEnvironment
    var opened: Opened?
    /// The file that prevents other processes of this app from using the session; locked until the process ends.
    var lock: OpenFile?
    /// The handles of each record.
    var transfers: [Int: BackgroundTransfer] = [:]
    var decidedWaiters: [@Sendable () -> [BackgroundCore.Action]] = []
    var deliveredWaiters: [Int: [@Sendable () -> Void]] = [:]
    /// The times at which all events of a generation were delivered while nothing was waiting for that.
    var deliveredAt: [Int: Duration] = [:]
    /// The downloads that another downloader takes over as soon as their tasks have ended, by record.
    var withdrawals: [Int: [@Sendable (Withdrawal) -> Void]] = [:]
    /// The actions that result from the inputs so far, to be performed by the next flush.
    var pending: [BackgroundCore.Action] = []
    /// The log of the present client.
    var log = Log()

    /// The state that exists after the journal was read.
    struct Opened {
        unowned let session: BackgroundSession
        var core: BackgroundCore
        /// Whether the file exists.
        var hasFile: Bool
        /// The revision of the journal in the file.
        var savedRevision: Int
        /// The revision that couldn't be written.
        var unsavableRevision: Int?
        /// The actions that are deferred until the journal can be written, or until a destination is accessible.
        var deferred: [BackgroundCore.Action] = []
        var saveRetry: (any ScheduledAction)?
        let file: JournalFile
        /// The file with its merged changes, if it is in the container of an app group.
        var shared: SharedJournalFile?
        let spool: Spool
        /// The latest connection to the session of each generation.
        var connections: [Int: DaemonConnection] = [:]
        var gate = DeliveryGate<DaemonEvent>()
        /// The generations whose lists of tasks are still awaited.
        var awaitedLists: Set<Int> = []
        /// The generations whose sessions ended before they listed their tasks, so that their tasks are unknown.
        var unlisted: Set<Int> = []
        var lists: [(generation: Int, task: DaemonTask)] = []
        var listLimit: (any ScheduledAction)?
        var settling = Settling()
        /// The records whose tasks were lost and that were restarted in this process.
        var lost: Set<Int> = []
        /// The tasks that fetch a fresh URL, by record.
        var refreshes: [Int: Task<Void, Never>] = [:]

        /// Whether the journal differs from its file.
        ///
        /// The file is created with the first record, so that an empty journal isn't written unnecessarily.
        var hasChanges: Bool {
            core.journal.revision.number != savedRevision && (hasFile || !core.journal.isEmpty)
        }
    }

    /// The awaited reports about unlisted tasks.
    struct Settling {
        /// The records whose tasks are not listed, and for which an event may still arrive.
        var undecided: Set<Int> = []
        /// The undecided records for which a second list is awaited.
        var listed: Set<Int> = []
        var timer: (any ScheduledAction)?
        /// The time until which additional events restart the timer.
        var limit: Duration?
    }

    init(identifier: String, environment: BackgroundEnvironment) {
        self.identifier = identifier
        self.environment = environment
    }

    /// Returns the identifier of the system's session for a generation.
    static func sessionIdentifier(_ identifier: String, generation: Int) -> String {
        generation == 0 ? identifier : "\(identifier).generation-\(generation)"
    }

    // MARK: The core

    /// Calls an input of the core, with the current time.
    func withCore(_ body: (inout BackgroundCore) -> [BackgroundCore.Action]) -> [BackgroundCore.Action] {
        guard var opened else { return [] }
        self.opened = nil
        update(&opened)
        let actions = body(&opened.core)
        self.opened = opened
        return actions
    }

    func update(_ opened: inout Opened) {
        opened.core.date = environment.time.date
        let connection = opened.connections[opened.core.journal.current.number]
        opened.core.isDisconnected = connection?.isUsable == false
        opened.core.isInForeground = environment.lifecycle.isInForeground
    }
}
