/// An event of a session after its callback has secured what would be lost: the file, or the resume data.
enum DaemonEvent: Sendable {
    case progressed(DaemonTaskName, received: Int64, expected: Int64?)
    /// The body is in the spool.
    case finished(DaemonTaskName, Spool.Body)
    /// The resume data, if any, is in the spool under this name.
    case failed(DaemonTaskName, DaemonFailure.Reason, resumeData: String?)
    /// The resume data of a task whose end was reported before is in the spool under this name.
    case resumeDataArrived(DaemonTaskName, String)
    /// The task has ended without an error, which says nothing about its file.
    case ended(DaemonTaskName)
    /// All events that waited for the app have been delivered.
    case allDelivered(generation: Int)

    /// The task that the event is about.
    var name: DaemonTaskName? {
        switch self {
        case .progressed(let name, _, _), .finished(let name, _), .failed(let name, _, _), .ended(let name): name
        case .resumeDataArrived(let name, _): name
        case .allDelivered: nil
        }
    }
}
