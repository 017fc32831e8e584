internal import Foundation

/// The part of a background session that is used on the session's queue only: the core, the journal's file, and the
/// connections to the system.
final class BackgroundWorker: @unchecked Sendable {  // Every member is used on the session's queue only.
    let identifier: String
    let environment: BackgroundEnvironment
    var opened: Opened?
    /// The file that keeps other processes of this app from using the session; held until the process ends.
    var lock: OpenFile?
    /// The handles of each record.
    var transfers: [Int: BackgroundTransfer] = [:]
    var decidedWaiters: [@Sendable () -> [BackgroundCore.Action]] = []
    var deliveredWaiters: [Int: [@Sendable () -> Void]] = [:]
    /// The time at which all events were delivered while nothing awaited that.
    var deliveredAt: [Int: Duration] = [:]
    /// The downloads that another downloader takes over as soon as their tasks have ended, by record.
    var withdrawals: [Int: [@Sendable (Withdrawal) -> Void]] = [:]
    /// The actions that follow from the inputs so far, and that the next flush performs.
    var pending: [BackgroundCore.Action] = []
    /// The log of the present client.
    var log = Log()

    /// The state that exists after the journal was read.
    struct Opened {
        unowned let session: BackgroundSession
        var core: BackgroundCore
        /// Whether the file exists.
        var hasFile: Bool
        /// The revision of the journal that the file contains.
        var savedRevision: Int
        /// The revision that could not be written.
        var unsavableRevision: Int?
        /// The actions that have to wait until the journal can be written, or until a destination is accessible.
        var deferred: [BackgroundCore.Action] = []
        var saveRetry: (any ScheduledAction)?
        let file: JournalFile
        /// The file if it is in the container of an app group.
        var shared: SharedJournalFile?
        let spool: Spool
        /// The last connection to the session of each generation.
        var connections: [Int: DaemonConnection] = [:]
        var gate = DeliveryGate<DaemonEvent>()
        /// The generations whose list of tasks is still awaited.
        var awaitedLists: Set<Int> = []
        /// The generations whose session ended before it has listed its tasks, about which nothing is known.
        var unlisted: Set<Int> = []
        var lists: [(generation: Int, task: DaemonTask)] = []
        var listLimit: (any ScheduledAction)?
        var settling = Settling()
        /// The records whose task was lost and that started anew in this process.
        var lost: Set<Int> = []
        /// The tasks that fetch a fresh URL, by record.
        var refreshes: [Int: Task<Void, Never>] = [:]

        /// Whether the journal differs from its file.
        ///
        /// The first record makes the file; before, an empty journal would be recorded for nothing.
        var hasChanges: Bool {
            core.journal.revision.number != savedRevision && (hasFile || !core.journal.isEmpty)
        }
    }

    /// The awaited reports about tasks that are not listed.
    struct Settling {
        /// The records whose task is not listed, and about which an event may still arrive.
        var undecided: Set<Int> = []
        /// The undecided records about which a second list is awaited.
        var listed: Set<Int> = []
        var timer: (any ScheduledAction)?
        /// The time until which further events restart the timer.
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
