internal import Foundation

/// The part of a background session that is used on the session's queue only: the core, the journal's file, and the
/// connections to the system.
final class BackgroundWorker: @unchecked Sendable {  // Every member is used on the session's queue only.
    let identifier: String
    let environment: BackgroundEnvironment
    var opened: Opened?
    /// The file that keeps other processes of this app from using the session; held until the process ends.
    private var lock: OpenFile?
    /// The handles of each record.
    var transfers: [Int: BackgroundTransfer] = [:]
    var decidedWaiters: [@Sendable () -> [BackgroundCore.Action]] = []
    var deliveredWaiters: [Int: [@Sendable () -> Void]] = [:]
    /// When all events were delivered while nobody was waiting for that.
    var deliveredAt: [Int: Duration] = [:]
    /// The actions that follow from the inputs so far, and that the next flush performs.
    var pending: [BackgroundCore.Action] = []
    let log = Log()

    /// What exists after the journal was read.
    struct Opened {
        unowned let session: BackgroundSession
        var core: BackgroundCore
        /// Whether the file exists.
        var hasFile: Bool
        /// The revision of the journal that the file contains.
        var savedRevision: Int
        /// The revision that could not be written.
        var unsavableRevision: Int?
        let file: JournalFile
        let spool: Spool
        var daemons: [Int: any TransferDaemon] = [:]
        var gate = DeliveryGate<DaemonEvent>()
        /// The listed tasks of the generations whose list is still awaited, or nil after the match.
        var awaitedLists: Set<Int> = []
        var lists: [(generation: Int, task: DaemonTask)] = []
        /// The records whose task is not listed, and about which an event may still arrive.
        var undecided: Set<Int> = []
        /// The records whose task was lost and that started anew in this process.
        var lost: Set<Int> = []
        /// Whether a list is awaited that decides about them.
        var isSettling = false
        var settleTimer: (any ScheduledAction)?

        /// Whether the journal differs from its file.
        ///
        /// The first record makes the file; before, an empty journal would be recorded for nothing.
        var hasChanges: Bool {
            core.journal.revision.number != savedRevision && (hasFile || !core.journal.isEmpty)
        }
    }

    init(identifier: String, environment: BackgroundEnvironment) {
        self.identifier = identifier
        self.environment = environment
    }

    /// Returns the identifier of the system's session for a generation.
    static func sessionIdentifier(_ identifier: String, generation: Int) -> String {
        generation == 0 ? identifier : "\(identifier).generation-\(generation)"
    }

    // MARK: Opening

    /// Reads the journal and connects to the system, unless that was done before.
    func open(_ session: BackgroundSession, options: BackgroundOptions?) throws(DownloadError) {
        guard opened == nil else { return }
        guard environment.makeDaemon != nil else {
            throw DownloadError(.unsupported, "background sessions require an Apple platform")
        }
        guard let own = environment.directory(of: identifier, group: nil) else {
            throw DownloadError(.storageFailure, "the app's container is not available")
        }
        try prepare(own)
        try acquireLock(in: own)
        let ownFile = JournalFile(disk: environment.disk, path: PartialNames.join(own, "journal"))
        let ownJournal = try Self.journal(ownFile)
        guard let wanted = options ?? ownJournal?.current.options else {
            throw DownloadError(.storageFailure, "the journal of the session does not exist")
        }
        // The journal at the fixed place of the app's container names the app group, if there is one.
        let recordedGroup = ownJournal?.current.options.sharedContainerIdentifier
        var group = wanted.sharedContainerIdentifier
        if let ownJournal, recordedGroup != group {
            let recorded =
                try recordedGroup.map { group throws(DownloadError) in
                    try Self.journal(journalFile(in: group))
                } ?? ownJournal
            guard recorded?.isEmpty ?? true else {
                throw DownloadError(
                    .unsupported, "the shared container of a session with unfinished downloads cannot be changed")
            }
        }
        if ownJournal?.isEmpty == false { group = nil }
        let file = try group.map { group throws(DownloadError) in try journalFile(in: group) } ?? ownFile
        let saved = group == nil ? ownJournal : try Self.journal(file)
        var journal =
            saved
            ?? BackgroundJournal(
                identifier: identifier, token: hexadecimal(UInt64.random(in: .min ... .max)), options: wanted)
        if group != nil, recordedGroup != group {
            try ownFile.write(BackgroundJournal(identifier: identifier, token: journal.token, options: wanted))
        }
        let savedRevision = journal.revision.number
        if let options { journal.use(options) }
        var core = BackgroundCore(journal)
        core.isInForeground = environment.lifecycle.isInForeground
        opened = Opened(
            session: session, core: core, hasFile: saved != nil, savedRevision: savedRevision, file: file,
            spool: Spool(disk: environment.disk, directory: PartialNames.directory(of: file.path)))
        connect()
    }

    private func journalFile(in group: String) throws(DownloadError) -> JournalFile {
        guard let directory = environment.directory(of: identifier, group: group) else {
            throw DownloadError(.unsupported, "the container of the app group \(group) is not available")
        }
        try prepare(directory)
        return JournalFile(disk: environment.disk, path: PartialNames.join(directory, "journal"))
    }

    private static func journal(_ file: JournalFile) throws(DownloadError) -> BackgroundJournal? {
        switch file.read() {
        case .missing: nil
        case .journal(let journal): journal
        case .unreadable(let error): throw error
        }
    }

    private func prepare(_ directory: String) throws(DownloadError) {
        do throws(FileFailure) {
            try environment.disk.makeDirectories(directory)
        } catch {
            throw DownloadError(error)
        }
        environment.unprotect(directory)
    }

    /// Acquires the lock of the session.
    ///
    /// The lock file is in the app's own container: the system ends a process that is suspended while it has locked a
    /// file in the container of an app group.
    private func acquireLock(in directory: String) throws(DownloadError) {
        guard lock == nil else { return }
        let (disk, path) = (environment.disk, PartialNames.join(directory, "lock"))
        do throws(FileFailure) {
            var file: OpenFile
            do throws(FileFailure) {
                file = try disk.open(path, .existing)
            } catch {
                guard error.kind == .missing else { throw error }
                file = try disk.open(path, .new)
            }
            do throws(FileFailure) {
                guard try disk.lock(file) else {
                    disk.close(file)
                    throw FileFailure(
                        .inUse, errno: 0, operation: "lock", name: "lock", reason: "another process uses the session")
                }
            } catch {
                guard error.kind == .unsupported else { throw error }
            }
            lock = file
        } catch {
            if error.kind == .inUse {
                throw DownloadError(.sessionInUse, "another process uses the background session \(identifier)")
            }
            throw DownloadError(error)
        }
    }

    private func connect() {
        guard let journal = opened?.core.journal, let spool = opened?.spool else { return }
        // What an earlier process secured and could not process counts as events that come before all others.
        for record in journal.records where record.isHandedOver {
            let name = journal.taskName(of: record)
            if let body = spool.body(name) {
                receive(.finished(name, body))
            } else if let resumeData = spool.existingResumeData(of: name), resumeData != record.resumeDataName {
                receive(.failed(name, .interrupted, resumeData: resumeData))
            }
        }
        let generations = journal.liveGenerations.map(\.number)
        opened?.awaitedLists = Set(generations)
        for generation in generations { attach(generation) }
        if generations.isEmpty { match() }
    }

    /// Returns the connection to the session of a generation, which is made at its first use.
    @discardableResult
    func attach(_ generation: Int) -> (any TransferDaemon)? {
        if let daemon = opened?.daemons[generation] { return daemon }
        guard let opened, let makeDaemon = environment.makeDaemon,
            let options = opened.core.journal.generations.first(where: { $0.number == generation })?.options
        else { return nil }
        let session = opened.session
        let daemon = makeDaemon(Self.sessionIdentifier(identifier, generation: generation), options)
        self.opened?.daemons[generation] = daemon
        daemon.attach(
            EventSecurer(
                session: session, spool: opened.spool, token: opened.core.journal.token, generation: generation))
        if opened.awaitedLists.contains(generation) {
            daemon.enumerate { tasks in
                session.submit { $0.listed(tasks, generation) }
            }
        }
        return daemon
    }

    private func listed(_ tasks: [DaemonTask], _ generation: Int) -> [BackgroundCore.Action] {
        opened?.lists += tasks.map { (generation, $0) }
        guard opened?.awaitedLists.remove(generation) != nil, opened?.awaitedLists.isEmpty == true else { return [] }
        match()
        return []
    }

    /// Matches the tasks and the events with the journal, and opens the gate.
    private func match() {
        guard var opened else { return }
        let plan = RelaunchPlan(
            opened.core.journal, tasks: opened.lists, events: opened.gate.heldEvents, isEverythingDelivered: false)
        if plan.foreignCount > 0 { log.notice("\(plan.foreignCount) tasks of the session are not in its journal") }
        opened.lists = []
        opened.undecided = Set(plan.records(.undecided))
        update(&opened)
        let actions = opened.core.adopt(plan)
        let held = opened.gate.open()
        self.opened = opened
        enqueue(actions)
        for event in held { process(event) }
        flush()
        if let journal = self.opened?.core.journal {
            self.opened?.spool.removeUnused(
                except: journal.fileNames, of: journal.records.filter(\.isHandedOver).map(journal.taskName))
        }
        enqueue(settleLater())
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

    private func update(_ opened: inout Opened) {
        opened.core.date = environment.time.date
        opened.core.jitter = Double.random(in: 0...1)
        opened.core.isInForeground = environment.lifecycle.isInForeground
    }
}
