#if canImport(Darwin)
internal import Foundation

/// The connection to a background session of URLSession.
///
/// Only a delegate and download tasks are used: the asynchronous functions and the completion handlers of tasks raise
/// exceptions in a background session, and so does the delegate of a task. All decisions are made elsewhere.
final class URLSessionDaemon: NSObject, TransferDaemon, URLSessionDownloadDelegate {
    private struct State {
        var session: URLSession?
        var receiver: (any DaemonEventReceiver)?
        var cancellations = PendingCancellations()
    }

    private let configuration: URLSessionConfiguration
    private let state = Mutex(State())

    init(identifier: String, options: BackgroundOptions) {
        configuration = URLSessionConfiguration.background(withIdentifier: identifier)
        configuration.isDiscretionary = options.isDiscretionary
        configuration.sessionSendsLaunchEvents = options.sendsLaunchEvents
        configuration.sharedContainerIdentifier = options.sharedContainerIdentifier
        configuration.timeoutIntervalForResource = Double(options.resourceTimeout.components.seconds)
        configuration.httpShouldSetCookies = false
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        super.init()
    }

    /// Makes a directory, and the files that are created in it, readable before the first unlock of the device, and
    /// excludes it from backups.
    static func prepareDirectory(_ directory: String) {
        #if !os(macOS)
        try? FileManager.default.setAttributes([.protectionKey: FileProtectionType.none], ofItemAtPath: directory)
        #endif
        var url = URL(fileURLWithPath: directory, isDirectory: true)
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        try? url.setResourceValues(values)
    }

    // MARK: TransferDaemon

    func attach(_ receiver: any DaemonEventReceiver) {
        let queue = OperationQueue()
        queue.name = "async-downloads.background-session"
        queue.maxConcurrentOperationCount = 1
        // The receiver has to exist before the session, which may deliver events at once.
        state.withLock { $0.receiver = receiver }
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: queue)
        state.withLock { $0.session = session }
    }

    func start(_ task: DaemonTaskRequest) -> Bool {
        guard let session = state.withLock({ $0.session }) else { return false }
        let created: URLSessionDownloadTask
        if let resumeData = task.resumeData {
            created = session.downloadTask(withResumeData: resumeData)
        } else {
            var request = URLRequest(url: task.url)
            request.httpShouldHandleCookies = false
            request.allowsCellularAccess = task.networks.allowsCellular
            request.allowsExpensiveNetworkAccess = task.networks.allowsExpensive
            request.allowsConstrainedNetworkAccess = task.networks.allowsConstrained
            for field in task.headers { request.addValue(field.value, forHTTPHeaderField: field.name) }
            created = session.downloadTask(with: request)
        }
        // The description has to be there before the system knows the task.
        created.taskDescription = task.description
        created.earliestBeginDate = task.earliestBegin.map { Date(timeIntervalSince1970: Double($0)) }
        if let count = task.expectedByteCount { created.countOfBytesClientExpectsToReceive = count }
        created.resume()
        return true
    }

    func enumerate(_ completion: @escaping @Sendable ([DaemonTask]?) -> Void) {
        guard let session = state.withLock({ $0.session }) else { return completion(nil) }
        session.getAllTasks { tasks in
            completion(tasks.filter { $0.state == .running || $0.state == .suspended }.map(DaemonTask.init))
        }
    }

    func cancel(_ description: String, _ completion: @escaping @Sendable (Bool) -> Void) {
        guard let session = state.withLock({ $0.session }) else { return completion(false) }
        session.getAllTasks { [self] tasks in
            let found = tasks.lazy.compactMap { $0 as? URLSessionDownloadTask }.first {
                $0.taskDescription == description && ($0.state == .running || $0.state == .suspended)
            }
            guard let found else { return completion(false) }
            state.withLock { $0.cancellations.began(description) }
            found.cancel { [self] resumeData in
                let late = state.withLock { $0.cancellations.receive(resumeData, description) }
                if let late { receiver?.resumeDataArrived(description, late) }
            }
            completion(true)
        }
    }

    // MARK: URLSessionDownloadDelegate

    private var receiver: (any DaemonEventReceiver)? { state.withLock { $0.receiver } }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        // The file is removed when this function returns, so the receiver moves it before that.
        receiver?.taskFinished(
            downloadTask.taskDescription, at: location.path, DaemonResponseHead(downloadTask.response))
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        receiver?.taskProgressed(
            downloadTask.taskDescription, received: totalBytesWritten,
            expected: totalBytesExpectedToWrite > 0 ? totalBytesExpectedToWrite : nil)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        receiver?.taskProgressed(
            downloadTask.taskDescription, received: fileOffset,
            expected: expectedTotalBytes > 0 ? expectedTotalBytes : nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let description = task.taskDescription
        let failure = state.withLock { $0.cancellations.ended(description, error.map(DaemonFailure.init)) }
        receiver?.taskEnded(description, failure)
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        state.withLock { $0.session = nil }
        receiver?.sessionInvalidated(error.flatMap { DaemonFailure($0).error })
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        receiver?.allEventsDelivered()
    }
}

extension DaemonTask {
    fileprivate init(_ task: URLSessionTask) {
        self.init(
            description: task.taskDescription, receivedByteCount: task.countOfBytesReceived,
            expectedByteCount: task.countOfBytesExpectedToReceive > 0 ? task.countOfBytesExpectedToReceive : nil)
    }
}

extension DaemonResponseHead {
    fileprivate init?(_ response: URLResponse?) {
        guard let response = response as? HTTPURLResponse, let url = response.url else { return nil }
        var headers = HeaderFields()
        for (name, value) in response.allHeaderFields {
            guard let name = name as? String, let value = value as? String else { continue }
            headers.append(value, for: name)
        }
        self.init(status: response.statusCode, headers: headers, url: url.absoluteString)
    }
}

extension DaemonFailure {
    fileprivate init(_ error: any Error) {
        guard let error = error as AnyObject as? NSError else {
            self.init(.transfer(DownloadError(.connectionLost)))
            return
        }
        self.init(
            domain: error.domain, code: error.code, underlyingNumber: error.underlyingNumber,
            cancellationReason: error.userInfo[NSURLErrorBackgroundTaskCancelledReasonKey] as? Int,
            resumeData: error.userInfo[NSURLSessionDownloadTaskResumeData] as? Data)
    }
}
#endif
