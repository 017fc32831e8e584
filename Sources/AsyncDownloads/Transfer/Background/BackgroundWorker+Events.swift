/// The events of the transfer service, and the decision about tasks of which no event has arrived.
extension BackgroundWorker {
    /// Adds actions, which are performed together with those of further inputs.
    func enqueue(_ actions: [BackgroundCore.Action]) { pending += actions }

    /// Records what has changed, and performs the actions.
    func flush() {
        while !pending.isEmpty || hasUnsavedChanges {
            let actions = pending
            pending = []
            commit(actions)
        }
    }

    /// Processes an event, or keeps it until the tasks are matched.
    func receive(_ event: DaemonEvent) {
        for event in opened?.gate.receive(event) ?? [] {
            process(event)
            enqueue(reportDecision())
        }
    }

    /// Processes an event that has passed the gate.
    func process(_ event: DaemonEvent) {
        if let name = event.name { opened?.undecided.remove(name.record) }
        enqueue(withCore { $0.handle(event) })
        guard case .allDelivered(let generation) = event else { return }
        // The files of all earlier events have to be in place before the system is told.
        flush()
        let waiters = deliveredWaiters.removeValue(forKey: generation) ?? []
        if waiters.isEmpty { deliveredAt[generation] = environment.time.now }
        for waiter in waiters { waiter() }
        enqueue(settle())
    }

    /// Calls `body` when all events of a generation have been delivered.
    func whenDelivered(_ generation: Int, _ body: @escaping @Sendable () -> Void) -> [BackgroundCore.Action] {
        attach(generation)
        // The report may come shortly before the app is asked to handle the events.
        if let time = deliveredAt.removeValue(forKey: generation), environment.time.now - time < .seconds(5) {
            body()
        } else {
            deliveredWaiters[generation, default: []].append(body)
        }
        return []
    }

    /// Calls `body` when it is known what has become of each download of an earlier process.
    func whenDecided(_ body: @escaping @Sendable () -> Void) -> [BackgroundCore.Action] {
        decidedWaiters.append {
            body()
            return []
        }
        return reportDecision()
    }

    func reportDecision() -> [BackgroundCore.Action] {
        guard opened?.gate.isOpen == true, opened?.undecided.isEmpty == true else { return [] }
        opened?.settleTimer?.cancel()
        opened?.settleTimer = nil
        let waiters = decidedWaiters
        decidedWaiters = []
        return waiters.flatMap { $0() }
    }

    /// Waits for events about tasks that are not listed, for a limited time.
    func settleLater() -> [BackgroundCore.Action] {
        guard let opened, opened.gate.isOpen else { return [] }
        guard !opened.undecided.isEmpty else { return reportDecision() }
        guard opened.settleTimer == nil else { return [] }
        let session = opened.session
        self.opened?.settleTimer = environment.time.schedule(after: environment.settleDelay) {
            session.submit { $0.settle() }
        }
        return []
    }

    /// Decides about tasks of which no event has arrived, after listing the tasks once more.
    private func settle() -> [BackgroundCore.Action] {
        guard let opened, opened.gate.isOpen, !opened.undecided.isEmpty, !opened.isSettling else { return [] }
        self.opened?.isSettling = true
        opened.settleTimer?.cancel()
        self.opened?.settleTimer = nil
        let journal = opened.core.journal
        let session = opened.session
        let generations = Set(opened.undecided.compactMap { journal[$0]?.generation })
        let lists = Mutex((remaining: generations.count, tasks: [(generation: Int, task: DaemonTask)]()))
        guard !generations.isEmpty else { return decide([]) }
        for generation in generations {
            guard let daemon = attach(generation) else { return decide([]) }
            daemon.enumerate { tasks in
                let all = lists.withLock { lists -> [(generation: Int, task: DaemonTask)]? in
                    lists.remaining -= 1
                    lists.tasks += tasks.map { (generation, $0) }
                    return lists.remaining == 0 ? lists.tasks : nil
                }
                if let all { session.submit { $0.decide(all) } }
            }
        }
        return []
    }

    private func decide(_ tasks: [(generation: Int, task: DaemonTask)]) -> [BackgroundCore.Action] {
        guard let opened else { return [] }
        let plan = RelaunchPlan(opened.core.journal, tasks: tasks, events: [], isEverythingDelivered: true)
        let lost = opened.undecided.intersection(plan.records(.lost))
        self.opened?.undecided = []
        self.opened?.isSettling = false
        self.opened?.lost.formUnion(lost)
        let actions = lost.sorted().flatMap { id in withCore { $0.lost(id) } }
        return actions + reportDecision()
    }
}
