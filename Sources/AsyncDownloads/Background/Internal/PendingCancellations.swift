internal import struct Foundation.Data

/// The two reports about each canceled task: its end, and the closure that receives its resume data.
///
/// Apple's documentation names the closure as the source of the resume data. The error of the end contains it, too, but
/// that isn't documented for a cancellation. The reports arrive in any order.
struct PendingCancellations: Sendable {
    /// The resume data of the closures whose task has not ended, by the description of the task.
    private var received: [String: Data] = [:]
    /// The descriptions of the tasks that were canceled and whose end has not been reported.
    private var awaited: Set<String> = []

    /// Records that a task is canceled.
    mutating func began(_ description: String) { awaited.insert(description) }

    /// Records the resume data of a closure.
    ///
    /// - Returns: The resume data if the end was reported before, so that it has to be passed on separately.
    mutating func receive(_ resumeData: Data?, _ description: String) -> Data? {
        guard let resumeData, !resumeData.isEmpty else { return nil }
        guard awaited.contains(description) else { return resumeData }
        received[description] = resumeData
        return nil
    }

    /// Returns the failure of a task that has ended, with the resume data of the closure if it has none.
    mutating func ended(_ description: String?, _ failure: DaemonFailure?) -> DaemonFailure? {
        guard let description, awaited.remove(description) != nil else { return failure }
        let resumeData = received.removeValue(forKey: description)
        guard var failure, failure.resumeData == nil else { return failure }
        failure.resumeData = resumeData
        return failure
    }
}
