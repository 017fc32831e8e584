extension DownloadEvent {
    /// What an event is about, without its values: events of one kind may stand for each other where a consumer is slow.
    enum Kind: Sendable, Hashable {
        case waiting, started, resumed, restarted, progress, retrying, paused, released, omitted, verifying, finished
    }

    var kind: Kind {
        switch self {
        case .waiting: .waiting
        case .started: .started
        case .resumed: .resumed
        case .restarted: .restarted
        case .progress: .progress
        case .retrying: .retrying
        case .paused: .paused
        case .released: .released
        case .omitted: .omitted
        case .verifying: .verifying
        case .finished: .finished
        }
    }
}
