package import struct Foundation.Data
package import struct Foundation.URL

/// The port to the system's transfer service, which continues downloads while the app is suspended or has ended.
///
/// A value stands for one session of the service, which has one identifier. The adapter on Apple platforms is a
/// background `URLSession`; the tests have a scripted service. All functions may be called on any thread.
package protocol TransferDaemon: AnyObject, Sendable {
    /// Connects to the session, whose events are delivered to `receiver` from now on, one after another.
    func attach(_ receiver: any DaemonEventReceiver)

    /// Creates a task and starts it, and returns whether the session has it; false after the session has ended.
    func start(_ task: DaemonTaskRequest) -> Bool

    /// Calls `completion` once with the tasks that have not ended; nil, which is unknown, after the session has ended.
    ///
    /// Tasks that have ended and whose events are still to be delivered may be missing.
    func enumerate(_ completion: @escaping @Sendable ([DaemonTask]?) -> Void)

    /// Cancels a task, whose end is then reported together with its resume data.
    ///
    /// - Parameter completion: A closure that is called once, with whether the task was found.
    func cancel(_ description: String, _ completion: @escaping @Sendable (Bool) -> Void)
}

/// The receiver of the events of one session, which calls it on one serial queue.
package protocol DaemonEventReceiver: AnyObject, Sendable {
    /// A task has received a response with a body, which is in the file at `path` until this function returns.
    ///
    /// A response that reports an error, such as 404, arrives here, too.
    func taskFinished(_ description: String?, at path: String, _ head: DaemonResponseHead?)

    /// A task has received bytes; `expected` is nil if the server has not stated a length.
    func taskProgressed(_ description: String?, received: Int64, expected: Int64?)

    /// A task has ended; `failure` is nil if it has finished, or if it ended without a file.
    func taskEnded(_ description: String?, _ failure: DaemonFailure?)

    /// The resume data of a canceled task has arrived after the report of its end, which contained none.
    func resumeDataArrived(_ description: String?, _ resumeData: Data)

    /// The session can no longer be used; its tasks may continue in a new session with the same identifier.
    ///
    /// - Parameter error: The reason, which is ``DownloadError/Code/sessionInUse`` if another process has the session;
    ///   nil if the system states none.
    func sessionInvalidated(_ error: DownloadError?)

    /// All events that were waiting for the app have been delivered; this does not mean that all tasks have ended.
    func allEventsDelivered()
}

/// A task to be created in a session.
package struct DaemonTaskRequest: Sendable, Hashable {
    /// The text that identifies the task in all its events, also to later processes.
    package var description: String
    package var url: URL
    package var headers: HeaderFields
    /// The resume data from which the task continues; the service then ignores the URL and the headers.
    package var resumeData: Data?
    /// The time before which the transfer does not start, in seconds since 1970.
    package var earliestBegin: Int64?
    package var expectedByteCount: Int64?
    /// The networks that the task may use; a task that continues from resume data keeps the networks of the earlier
    /// task.
    var networks = PermittedNetworks()

    package init(
        description: String, url: URL, headers: HeaderFields = [:], resumeData: Data? = nil,
        earliestBegin: Int64? = nil, expectedByteCount: Int64? = nil
    ) {
        self.description = description
        self.url = url
        self.headers = headers
        self.resumeData = resumeData
        self.earliestBegin = earliestBegin
        self.expectedByteCount = expectedByteCount
    }
}

/// A task that has not ended, as the service lists it.
package struct DaemonTask: Sendable, Hashable {
    /// The text that the task was created with; services have been seen to lose it.
    package var description: String?
    package var receivedByteCount: Int64
    package var expectedByteCount: Int64?

    package init(description: String?, receivedByteCount: Int64 = 0, expectedByteCount: Int64? = nil) {
        self.description = description
        self.receivedByteCount = receivedByteCount
        self.expectedByteCount = expectedByteCount
    }
}

/// The head of the response that a task received last, and the URL that it came from.
package struct DaemonResponseHead: Sendable, Hashable, Codable {
    package var status: Int
    /// The fields that decide about the body, as name and value pairs.
    package var fields: [[String]]
    package var url: String

    /// Creates a head that keeps only the fields that are needed; others, such as cookies, are never recorded.
    package init(status: Int, headers: HeaderFields, url: String) {
        self.status = status
        self.url = url
        fields = headers.filter { Self.neededNames.contains($0.name.asciiLowercased()) }.map { [$0.name, $0.value] }
    }

    private static let neededNames: Set<String> = [
        "content-disposition", "content-encoding", "content-length", "content-range", "content-type", "date", "etag",
        "last-modified", "repr-digest", "retry-after",
    ]

    /// The head as the interpreter of responses reads it.
    var responseHead: ResponseHead {
        var headers = HeaderFields()
        for field in fields where field.count == 2 { headers.append(field[1], for: field[0]) }
        return ResponseHead(status: StatusCode(status), headers: headers)
    }
}

/// The reason why a task ended without a file.
package struct DaemonFailure: Sendable {
    package enum Reason: Sendable {
        /// A call of ``TransferDaemon/cancel(_:_:)``, or a cancellation for which the system states no reason.
        case cancelled
        /// The user quit the app in the app switcher.
        case userForceQuit
        /// Background activity is turned off for the app.
        case backgroundUpdatesDisabled
        /// The system did not have enough resources.
        case insufficientResources
        /// The system reported a finished task, but its file does not exist.
        case fileMissing
        /// The finished file could not be moved to where the system does not remove it.
        case notStored(DownloadError)
        /// The process ended before it could record why the task failed.
        case interrupted
        /// The transfer failed.
        case transfer(DownloadError)
    }

    package var reason: Reason
    package var resumeData: Data?

    /// The error of a failed transfer.
    var error: DownloadError? { if case .transfer(let error) = reason { error } else { nil } }

    package init(_ reason: Reason, resumeData: Data? = nil) {
        self.reason = reason
        self.resumeData = resumeData
    }
}
