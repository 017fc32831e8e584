/// The connections to the system's sessions, which may end at any time.
extension BackgroundWorker {
    /// Returns the connection to the session of a generation, creating it if necessary.
    ///
    /// After the end of a session, the result is nil until the next connection may be made.
    ///
    /// - Parameter isRequired: Whether the next connection is made without a delay.
    @discardableResult
    func attach(_ generation: Int, isRequired: Bool = false) -> (any TransferDaemon)? {
        let former = opened?.connections[generation]
        if let daemon = former?.daemon { return daemon }
        let isInForeground = environment.lifecycle.isInForeground
        let mayConnect = former?.mayReconnect(at: environment.time.now, isInForeground: isInForeground) ?? true
        guard let opened, let makeDaemon = environment.makeDaemon, isRequired || mayConnect,
            let options = opened.core.journal.generations.first(where: { $0.number == generation })?.options
        else { return nil }
        former?.timer?.cancel()
        let daemon = makeDaemon(Self.sessionIdentifier(identifier, generation: generation), options)
        let connection = DaemonConnection(daemon, after: former, at: environment.time.now)
        self.opened?.connections[generation] = connection
        daemon.attach(
            EventSpooler(
                session: opened.session, spool: opened.spool, token: opened.core.journal.token,
                generation: generation, connection: connection.number))
        if opened.awaitedLists.contains(generation) || former != nil {
            list(generation) { $0.listed($1, generation) }
        }
        return daemon
    }

    /// Calls `body` on the queue with the tasks of a generation's session; nil if the session doesn't exist.
    func list(
        _ generation: Int,
        _ body: @escaping @Sendable (BackgroundWorker, [DaemonTask]?) -> [BackgroundCore.Action]
    ) {
        guard let session = opened?.session else { return }
        guard let connection = opened?.connections[generation], let daemon = connection.daemon else {
            return session.submit { body($0, nil) }
        }
        daemon.enumerate { tasks in
            session.submit { worker in
                guard tasks != nil else {
                    return body(worker, nil) + worker.sessionIsMissing(generation, connection.number)
                }
                worker.prove(generation, connection.number)
                return body(worker, tasks)
            }
        }
    }

    /// Records that a session has listed its tasks or delivered an event.
    func prove(_ generation: Int, _ number: Int) {
        if opened?.connections[generation]?.number == number { opened?.connections[generation]?.prove() }
    }

    /// Returns the error of a request that needs a task, if another process currently uses the session.
    func connectionError() -> DownloadError? {
        guard let generation = opened?.core.journal.current.number, opened?.connections[generation] != nil else {
            return nil
        }
        attach(generation)
        guard let connection = opened?.connections[generation], connection.daemon == nil else { return nil }
        return connection.error?.code == .sessionInUse ? connection.error : nil
    }

    /// Handles that a session has ended without a report of its end so far.
    func sessionIsMissing(_ generation: Int, _ number: Int) -> [BackgroundCore.Action] {
        opened?.connections[generation]?.daemon == nil ? [] : disconnected(generation, number, nil)
    }

    /// Handles that the system has ended the session of a connection; its tasks continue in a new session.
    func disconnected(_ generation: Int, _ number: Int, _ error: DownloadError?) -> [BackgroundCore.Action] {
        guard let session = opened?.session, var connection = opened?.connections[generation],
            connection.number == number
        else { return [] }
        log.notice("a background session has ended", error)
        connection.timer?.cancel()
        let delay = connection.end(error, at: environment.time.now)
        let refused = connection.takeRefused()
        let next: @Sendable () -> Void = { session.submit { $0.reconnect(generation, isRequired: false) } }
        if delay > .zero {
            connection.timer = environment.time.schedule(after: delay, next)
        } else {
            next()
        }
        opened?.connections[generation] = connection
        var actions = listed(nil, generation)
        if let refused {
            let isCurrent = opened?.core.journal.current.number == generation
            actions += withCore { core in
                guard isCurrent else {
                    for name in refused.tasks { core.notStarted(name) }
                    return []
                }
                return core.sessionIsInUse(refused.tasks, refused.error)
            }
        }
        return actions
    }

    /// Makes the next connection if a download needs it.
    @discardableResult
    func reconnect(_ generation: Int, isRequired: Bool = true) -> [BackgroundCore.Action] {
        guard let opened, opened.connections[generation]?.daemon == nil,
            opened.core.journal.liveGenerations.contains(where: { $0.number == generation })
        else { return [] }
        attach(generation, isRequired: isRequired)
        return []
    }
}
