package import AsyncDownloads
package import Foundation

/// A client's connection to a scripted transfer service, whose state is a ``SpoolDirectory``.
///
/// Events are delivered when ``deliver()`` is called, so a test decides about every moment. A connection that was cut
/// stands for a process that has ended: it does nothing any more.
package final class ScriptedDaemon: TransferDaemon {
    /// A misbehavior of the service.
    package struct Misbehavior: Sendable {
        /// Tasks are listed without their description.
        package var losesDescriptions = false
        /// No task is listed.
        package var listsNothing = false
        /// The file of a finished task vanishes before its event is delivered.
        package var losesFiles = false
        /// Each event is delivered twice.
        package var repeatsEvents = false
        /// Events are delivered as soon as the client has attached, before any list.
        package var deliversAtOnce = false
        /// Events are delivered in reverse order.
        package var reordersEvents = false
        /// The tasks are never listed.
        package var neverLists = false
        /// Tasks are listed at once, even if events about some of them wait; otherwise behind these events.
        package var listsAtOnce = true
        /// The resume data of a canceled task arrives after the report of its end.
        package var delaysResumeData = false

        package init() {}
    }

    /// Returns the resume data of a canceled task, if it has any.
    package typealias MakeResumeData = @Sendable (SpoolDirectory.StoredTask) -> Data?

    /// A list that is answered behind the events that waited when it was requested.
    private struct List {
        let tasks: [DaemonTask]
        let behind: String?
        let completion: @Sendable ([DaemonTask]?) -> Void
    }

    private struct State {
        var receiver: (any DaemonEventReceiver)?
        var isCut = false
        var startCount = 0
        /// The lists that are answered behind the events that waited when they were requested.
        var lists: [List] = []
        /// Whether the session has ended, so that it has no tasks.
        var isInvalid = false
    }

    package let identifier: String
    package let options: BackgroundOptions
    private let directory: SpoolDirectory
    private let misbehavior: Misbehavior
    private let makeResumeData: MakeResumeData
    private let state = Mutex(State())

    package init(
        identifier: String, options: BackgroundOptions, directory: SpoolDirectory,
        misbehavior: Misbehavior = Misbehavior(),
        makeResumeData: @escaping MakeResumeData = { $0.received > 0 ? ScriptedService.resumeData(of: $0) : nil }
    ) {
        self.makeResumeData = makeResumeData
        self.identifier = identifier
        self.options = options
        self.directory = directory
        self.misbehavior = misbehavior
    }

    /// The number of tasks that were started over this connection.
    package var startCount: Int { state.withLock { $0.startCount } }

    /// Ends the connection, as the end of the client's process does.
    package func cut() {
        state.withLock { state in
            state.isCut = true
            state.receiver = nil
        }
    }

    package func attach(_ receiver: any DaemonEventReceiver) {
        let isAttached = state.withLock { state in
            if !state.isCut { state.receiver = receiver }
            return !state.isCut
        }
        if isAttached, directory.isHeldElsewhere(identifier) {
            invalidate(DownloadError(.sessionInUse, "another process uses the session", isRetryable: true))
        }
        if isAttached, misbehavior.deliversAtOnce { deliver() }
    }

    package func start(_ task: DaemonTaskRequest) -> Bool {
        let isAlive = state.withLock { state in
            if !state.isCut, !state.isInvalid { state.startCount += 1 }
            return !state.isCut && !state.isInvalid
        }
        guard isAlive else { return false }
        try? directory.add(
            SpoolDirectory.StoredTask(
                id: UUID().uuidString, description: task.description, url: task.url.absoluteString,
                resumeData: task.resumeData, earliestBegin: task.earliestBegin,
                expectedByteCount: task.expectedByteCount, session: identifier,
                headers: task.headers.map { [$0.name, $0.value] }))
        return true
    }

    /// Ends the session, as the system does without an error when its service was restarted, and with one when another
    /// process has the session.
    ///
    /// - Parameter isReported: Whether the client learns of it now, or by ``reportInvalidation(_:)``.
    package func invalidate(_ error: DownloadError? = nil, isReported: Bool = true) {
        state.withLock { $0.isInvalid = true }
        if isReported { reportInvalidation(error) }
    }

    package func reportInvalidation(_ error: DownloadError? = nil) {
        let receiver = state.withLock { state in
            defer { state.receiver = nil }
            return state.receiver
        }
        receiver?.sessionInvalidated(error)
    }

    /// The tasks of the session.
    private var ownTasks: [SpoolDirectory.StoredTask] { directory.tasks.filter { $0.session == identifier } }

    package func enumerate(_ completion: @escaping @Sendable ([DaemonTask]?) -> Void) {
        guard state.withLock({ !$0.isCut }), !misbehavior.neverLists else { return }
        guard state.withLock({ !$0.isInvalid }) else { return completion(nil) }
        let (stored, last): ([SpoolDirectory.StoredTask], String?)
        do {
            (stored, last) = try directory.exclusively {
                (misbehavior.listsNothing ? [] : ownTasks, directory.eventNames.last)
            }
        } catch {
            // An empty list would mean that all tasks are lost.
            preconditionFailure("the directory of the service cannot be locked: \(error)")
        }
        let tasks = stored.map { task in
            DaemonTask(
                description: misbehavior.losesDescriptions ? nil : task.description,
                receivedByteCount: task.received, expectedByteCount: task.expected)
        }
        guard !misbehavior.listsAtOnce else { return completion(tasks) }
        state.withLock { $0.lists.append(List(tasks: tasks, behind: last, completion: completion)) }
    }

    /// Answers the requests for lists whose events have been delivered.
    private func answerLists() {
        let first = directory.eventNames.first
        let due = state.withLock { state in
            let isInvalid = state.isInvalid
            // After the end of the session, no event will come.
            let isDue = { (list: List) in isInvalid || list.behind.map { first ?? "~" > $0 } ?? true }
            let due = state.lists.filter(isDue)
            state.lists.removeAll(where: isDue)
            return state.isCut ? [] : due.map { (tasks: isInvalid ? nil : $0.tasks, completion: $0.completion) }
        }
        for list in due { list.completion(list.tasks) }
    }

    package func cancel(_ description: String, _ completion: @escaping @Sendable (Bool) -> Void) {
        guard state.withLock({ !$0.isCut }) else { return }
        guard state.withLock({ !$0.isInvalid }) else { return completion(false) }
        guard let task = ownTasks.first(where: { $0.description == description }), directory.remove(task) else {
            return completion(false)
        }
        var event = SpoolDirectory.StoredEvent(.failed, description: description)
        event.reason = "cancelled"
        event.resumeData = makeResumeData(task)
        event.delaysResumeData = misbehavior.delaysResumeData
        try? directory.add(event)
        completion(true)
    }

    /// Delivers the events that wait, one after another.
    ///
    /// - Returns: The number of delivered events.
    @discardableResult
    package func deliver() -> Int {
        var count = 0
        var names = directory.eventNames
        if misbehavior.reordersEvents { names.reverse() }
        for name in names {
            guard let receiver = state.withLock({ $0.receiver }), let event = directory.event(name) else { break }
            for _ in 0..<(misbehavior.repeatsEvents ? 2 : 1) { deliver(event, to: receiver) }
            // The service forgets an event only after the callback has returned.
            guard state.withLock({ !$0.isCut }) else { break }
            directory.removeEvent(name)
            event.file.map(directory.removeFile)
            count += 1
            answerLists()
        }
        answerLists()
        return count
    }

    private func deliver(_ event: SpoolDirectory.StoredEvent, to receiver: any DaemonEventReceiver) {
        switch event.kind {
        case .progressed:
            receiver.taskProgressed(event.description, received: event.received, expected: event.expected)
        case .finished:
            guard let file = event.file else { return }
            if misbehavior.losesFiles { directory.removeFile(file) }
            receiver.taskFinished(event.description, at: directory.path(ofFile: file), event.head)
            receiver.taskEnded(event.description, nil)
        case .ended:
            receiver.taskEnded(event.description, nil)
        case .failed:
            let reason: DaemonFailure.Reason =
                switch event.reason {
                case "0": .userForceQuit
                case "1": .backgroundUpdatesDisabled
                case "2": .insufficientResources
                case "cancelled": .cancelled
                default: .transfer(DownloadError(.connectionLost, "scripted", isRetryable: event.isRetryable))
                }
            let isDelayed = event.delaysResumeData
            receiver.taskEnded(
                event.description, DaemonFailure(reason, resumeData: isDelayed ? nil : event.resumeData))
            if isDelayed, let resumeData = event.resumeData {
                receiver.resumeDataArrived(event.description, resumeData)
            }
        case .allDelivered:
            receiver.allEventsDelivered()
        }
    }
}
