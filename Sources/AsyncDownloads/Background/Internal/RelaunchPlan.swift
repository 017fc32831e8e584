/// The plan for the downloads that an earlier process handed over to the system, with a verdict for each one.
///
/// The decision depends on the journal, the tasks that the system lists, and the events that have arrived. It has no
/// effects: the same inputs give the same plan.
struct RelaunchPlan: Sendable, Hashable {
    /// The condition of one download.
    enum Verdict: Sendable, Hashable {
        /// Its task is with the system.
        case running(receivedByteCount: Int64, expectedByteCount: Int64?)
        /// A file arrived, whatever its response says.
        case finishedMeanwhile
        case failed
        /// Its task is gone, and no event has reported why.
        case lost
        /// Its task is not listed, and an event about it may still arrive.
        case undecided
        /// No task was handed over.
        case idle
    }

    /// A task of the system that belongs to an earlier attempt of a record.
    struct StaleTask: Sendable, Hashable {
        let name: DaemonTaskName
        let generation: Int
    }

    /// The verdicts by the number of the record.
    private(set) var verdicts: [Int: Verdict] = [:]
    /// The tasks that are to be canceled, because a later attempt has replaced them.
    private(set) var stale: [StaleTask] = []
    /// The number of tasks that this journal does not know, which are left alone.
    private(set) var foreignCount = 0

    /// Whether every download has a final verdict.
    var isDecided: Bool { !verdicts.values.contains(.undecided) }

    /// The numbers of the records with a verdict, in order.
    func records(_ verdict: Verdict) -> [Int] { verdicts.filter { $0.value == verdict }.keys.sorted() }

    /// Makes a plan.
    ///
    /// - Parameters:
    ///   - tasks: The listed tasks of each generation's session.
    ///   - events: The events that have arrived, in order; files and resume data that an earlier process has left in
    ///     the spool count as events.
    ///   - isEverythingDelivered: Whether no other event about a task of an earlier process can arrive.
    init(
        _ journal: BackgroundJournal, tasks: [(generation: Int, task: DaemonTask)], events: [DaemonEvent],
        isEverythingDelivered: Bool
    ) {
        for record in journal.records {
            switch record.stage {
            case .handedOver: verdicts[record.id] = isEverythingDelivered ? .lost : .undecided
            case .idle: verdicts[record.id] = .idle
            case .received: verdicts[record.id] = .finishedMeanwhile
            }
        }
        for (generation, task) in tasks {
            guard let name = DaemonTaskName(task.description), name.journal == journal.token else {
                foreignCount += 1
                continue
            }
            if let record = journal.record(for: name), record.isHandedOver, record.generation == generation {
                verdicts[record.id] = .running(
                    receivedByteCount: task.receivedByteCount, expectedByteCount: task.expectedByteCount)
            } else if name.record > journal.lastNumber {
                // Another process has recorded it since the journal was read.
                foreignCount += 1
            } else {
                stale.append(StaleTask(name: name, generation: generation))
            }
        }
        // An event is later than the list, or about a task that the list no longer contains.
        for event in events {
            guard let name = event.name, let record = journal.record(for: name), record.isHandedOver else { continue }
            switch event {
            case .finished: verdicts[record.id] = .finishedMeanwhile
            case .failed: if verdicts[record.id] != .finishedMeanwhile { verdicts[record.id] = .failed }
            case .progressed, .ended, .resumeDataArrived, .allDelivered: break
            }
        }
    }
}
