/// The events of the transfer service, and the decision about tasks without an event.
extension BackgroundWorker {
    /// Adds actions, which are performed together with the actions of later inputs.
    func enqueue(_ actions: [BackgroundCore.Action]) { pending += actions }

    /// Records the changes, and performs the pending actions.
    func flush() {
        while !pending.isEmpty || hasUnsavedChanges {
            let actions = pending
            pending = []
            commit(actions)
        }
        reportWithdrawals()
    }

    /// Processes an event, or holds it until the tasks are matched with the journal.
    func receive(_ event: DaemonEvent) {
        for event in opened?.gate.receive(event) ?? [] {
            process(event)
            enqueue(reportDecision())
        }
    }

    /// Processes an event that has passed the gate.
    func process(_ event: DaemonEvent) {
        if let name = event.name {
            if opened?.core.journal.record(for: name) != nil { opened?.settling.undecided.remove(name.record) }
            enqueue(withCore { $0.handle(event) })
            let isKnown = name.record <= opened?.core.journal.lastNumber ?? 0
            if case .failed = event, isKnown { enqueue([.removeFiles([Spool.failureName(of: name)])]) }
            restartSettling(event)
        }
        guard case .allDelivered(let generation) = event else { return }
        // The files of all earlier events have to be in place before the system is notified.
        flush()
        let waiters = deliveredWaiters.removeValue(forKey: generation) ?? []
        if waiters.isEmpty { deliveredAt[generation] = environment.time.now }
        for waiter in waiters { waiter() }
        enqueue(settle(only: generation))
    }

    /// Calls `body` when all events of a generation have been delivered.
    func whenDelivered(_ generation: Int, _ body: @escaping @Sendable () -> Void) -> [BackgroundCore.Action] {
        // The system has launched the app for this session, so no other process uses it.
        guard attach(generation, isRequired: true) != nil else {
            // All tasks of the generation have ended, and nothing awaits its events.
            body()
            return []
        }
        // The report may arrive shortly before the app is asked to handle the events.
        if let time = deliveredAt.removeValue(forKey: generation), environment.time.now - time < .seconds(5) {
            body()
        } else {
            deliveredWaiters[generation, default: []].append(body)
        }
        return []
    }

    /// Calls `body` when the fate of each download of an earlier process is known.
    func whenDecided(_ body: @escaping @Sendable () -> Void) -> [BackgroundCore.Action] {
        decidedWaiters.append {
            body()
            return []
        }
        return reportDecision()
    }

    func reportDecision() -> [BackgroundCore.Action] {
        guard let opened, opened.gate.isOpen, opened.settling.undecided.isEmpty else { return [] }
        opened.settling.timer?.cancel()
        self.opened?.settling.timer = nil
        self.opened?.settling.limit = nil
        let waiters = decidedWaiters
        decidedWaiters = []
        return waiters.flatMap { $0() }
    }

    // MARK: Lost tasks

    /// Waits for events about unlisted tasks, for a limited time.
    func settleLater() -> [BackgroundCore.Action] {
        guard let opened, opened.gate.isOpen else { return [] }
        guard !opened.settling.undecided.isEmpty else { return reportDecision() }
        guard opened.settling.timer == nil else { return [] }
        let session = opened.session
        // The events of many tasks take time, but `restored()` must not wait forever.
        if opened.settling.limit == nil {
            self.opened?.settling.limit = environment.time.now + environment.settleDelay * 6
        }
        self.opened?.settling.timer = environment.time.schedule(after: environment.settleDelay) {
            session.submit { $0.settle() }
        }
        return []
    }

    /// Extends the wait after an event, because more events may follow.
    private func restartSettling(_ event: DaemonEvent) {
        guard let settling = opened?.settling, let timer = settling.timer, let limit = settling.limit else { return }
        if case .progressed = event { return }
        guard environment.time.now < limit else { return }
        timer.cancel()
        opened?.settling.timer = nil
        enqueue(settleLater())
    }

    /// Decides about tasks without an event, after listing the tasks again.
    ///
    /// - Parameter generation: The generation whose events have all been delivered; nil for all generations.
    private func settle(only generation: Int? = nil) -> [BackgroundCore.Action] {
        guard let opened, opened.gate.isOpen else { return [] }
        if generation == nil {
            opened.settling.timer?.cancel()
            self.opened?.settling.timer = nil
        }
        let journal = opened.core.journal
        let ids = opened.settling.undecided.subtracting(opened.settling.listed)
        var byGeneration: [Int: Set<Int>] = [:]
        for id in ids {
            guard let record = journal[id], record.isHandedOver else {
                self.opened?.settling.undecided.remove(id)
                continue
            }
            if generation == nil || record.generation == generation {
                byGeneration[record.generation, default: []].insert(id)
            }
        }
        let session = opened.session
        for (generation, ids) in byGeneration {
            self.opened?.settling.listed.formUnion(ids)
            let answer = FirstAnswer<[DaemonTask]?>()
            answer.whenGiven { tasks in
                session.submit { $0.decide(ids, tasks?.map { (generation, $0) }) }
            }
            let timer = environment.time.schedule(after: environment.listLimit) { answer(nil) }
            attach(generation)
            list(generation) { _, tasks in
                timer.cancel()
                answer(tasks)
                return []
            }
        }
        return reportDecision()
    }

    /// Decides about the records of one generation.
    ///
    /// - Parameter tasks: The tasks of the generation; nil if the system has not listed them, so that nothing is known
    ///   about them.
    private func decide(
        _ ids: Set<Int>, _ tasks: [(generation: Int, task: DaemonTask)]?
    ) -> [BackgroundCore.Action] {
        guard let opened else { return [] }
        let judged = ids.intersection(opened.settling.undecided)
        self.opened?.settling.undecided.subtract(ids)
        self.opened?.settling.listed.subtract(ids)
        var lost: Set<Int> = []
        if let tasks {
            let plan = RelaunchPlan(opened.core.journal, tasks: tasks, events: [], isEverythingDelivered: true)
            lost = judged.intersection(plan.records(.lost))
        }
        self.opened?.lost.formUnion(lost)
        let actions = lost.sorted().flatMap { id in withCore { $0.lost(id) } }
        return actions + reportDecision()
    }
}
