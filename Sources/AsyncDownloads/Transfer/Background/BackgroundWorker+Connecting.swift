/// The connections to the system's sessions, and the matching of their tasks with the journal.
extension BackgroundWorker {
    func connect() {
        guard let journal = opened?.core.journal else { return }
        // Events that an earlier process secured but could not process precede all other events.
        for record in journal.records where record.isHandedOver { receiveLeftovers(of: record) }
        let generations = journal.liveGenerations.map(\.number)
        opened?.awaitedLists = Set(generations)
        for generation in generations { attach(generation) }
        if opened?.awaitedLists.isEmpty == true { return match() }
        guard let session = opened?.session else { return }
        // The time is limited, because the system sometimes doesn't answer.
        opened?.listLimit = environment.time.schedule(after: environment.listLimit) {
            session.submit { $0.listsAreLate() }
        }
    }

    private func receiveLeftovers(of record: BackgroundRecord) {
        guard let opened else { return }
        let name = opened.core.journal.taskName(of: record)
        if let body = opened.spool.body(name) {
            receive(.finished(name, body))
        } else if let failure = opened.spool.failure(name) {
            receive(failure)
        }
    }

    /// Processes the tasks of a session; nil if the session has ended, so that its tasks are unknown.
    func listed(_ tasks: [DaemonTask]?, _ generation: Int) -> [BackgroundCore.Action] {
        guard let opened else { return [] }
        guard opened.gate.isOpen else {
            guard self.opened?.awaitedLists.remove(generation) != nil else { return [] }
            if let tasks {
                self.opened?.lists += tasks.map { (generation, $0) }
            } else {
                self.opened?.unlisted.insert(generation)
            }
            if self.opened?.awaitedLists.isEmpty == true { match() }
            return []
        }
        guard let tasks else { return [] }
        // The session was recreated, or has listed its tasks late.
        let journal = opened.core.journal
        let plan = RelaunchPlan(
            journal, tasks: tasks.map { (generation, $0) }, events: [], isEverythingDelivered: false)
        let undecided = plan.records(.undecided).filter { journal[$0]?.generation == generation }
        self.opened?.settling.undecided.formUnion(undecided)
        return withCore { $0.adopt(plan) } + settleLater()
    }

    /// Handles that a list of tasks has not arrived; the affected downloads remain undecided.
    private func listsAreLate() -> [BackgroundCore.Action] {
        guard opened?.awaitedLists.isEmpty == false else { return [] }
        log.notice("the system has not listed the tasks of a background session")
        opened?.awaitedLists = []
        match()
        return []
    }

    /// Matches the tasks and the events with the journal, and opens the gate.
    private func match() {
        guard var opened else { return }
        opened.listLimit?.cancel()
        opened.listLimit = nil
        let plan = RelaunchPlan(
            opened.core.journal, tasks: opened.lists, events: opened.gate.heldEvents, isEverythingDelivered: false)
        if plan.foreignCount > 0 { log.notice("\(plan.foreignCount) tasks of the session are not in its journal") }
        opened.lists = []
        let journal = opened.core.journal
        let unlisted = opened.unlisted
        opened.settling.undecided = Set(
            plan.records(.undecided).filter { id in !(journal[id].map { unlisted.contains($0.generation) } ?? false) })
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

    // MARK: App groups

    /// Adopts changes that other processes have made to the journal of an app group.
    func readChangesOfOtherProcesses() {
        guard let opened, var shared = opened.shared else { return }
        let own = opened.core.journal
        let merged: BackgroundJournal?
        do throws(DownloadError) {
            merged = try shared.changes(mergedWith: own)
        } catch {
            // Writing the journal will fail as well, and will report the error.
            return log.notice("the journal of a background session cannot be read again", error)
        }
        self.opened?.shared = shared
        guard let merged else { return }
        let hadChanges = opened.hasChanges
        self.opened?.core.journal = merged
        if !hadChanges { self.opened?.savedRevision = merged.revision.number }
        takeOver(merged, since: own)
    }

    /// Continues with a journal that contains changes of another process.
    func takeOver(_ merged: BackgroundJournal, since own: BackgroundJournal) {
        for (id, transfer) in transfers {
            guard let record = merged[id] else {
                transfers[id] = nil
                transfer.end(nil, DownloadError(.sessionInUse, "another process has ended the download"))
                continue
            }
            for delivery in record.deliveries where own[id]?.deliveries.contains(delivery) == false {
                if let outcome = delivery.outcome {
                    enqueue([.end(record: id, delivery: delivery.id, outcome)])
                }
            }
        }
        for record in merged.records where record.isHandedOver && own[record.id] != record {
            receiveLeftovers(of: record)
            // Before the match, every record without an event counts as undecided anyway.
            guard opened?.gate.isOpen == true else { continue }
            opened?.settling.undecided.insert(record.id)
            attach(record.generation)
        }
        enqueue(settleLater())
    }
}
