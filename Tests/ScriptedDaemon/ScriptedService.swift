package import AsyncDownloads
package import Foundation

/// The side of a scripted transfer service that transfers files, regardless of its clients' state.
package struct ScriptedService: Sendable {
    package let directory: SpoolDirectory

    package init(_ directory: SpoolDirectory) {
        self.directory = directory
    }

    /// Returns the bytes of the resource at a URL.
    package static func content(_ url: String) -> Data { Data("content of \(url)\n".utf8) }

    /// Returns resume data for the bytes that a task has received; its form means something to this service only.
    package static func resumeData(of task: SpoolDirectory.StoredTask) -> Data {
        Data("resume \(task.received) of \(task.url)".utf8)
    }

    /// Reports progress of a task.
    package func progress(_ task: SpoolDirectory.StoredTask, received: Int64) throws {
        var task = task
        task.received = received
        task.expected = Int64(Self.content(task.url).count)
        try directory.save(task)
        try reportProgress(of: task)
    }

    private func reportProgress(of task: SpoolDirectory.StoredTask) throws {
        var event = SpoolDirectory.StoredEvent(.progressed, description: task.description)
        (event.received, event.expected) = (task.received, task.expected)
        try directory.add(event)
    }

    /// Finishes a task with a response.
    ///
    /// As a real service does, this one reports the bytes of every body as progress, even the bytes of an error page.
    ///
    /// - Parameters:
    ///   - status: The status of the response; the body of a task that continued is reported as 206.
    ///   - isTailOnly: Whether the file of a task that continued lacks its beginning.
    package func finish(
        _ task: SpoolDirectory.StoredTask, status: Int = 200, isTailOnly: Bool = false, headers: HeaderFields = [:],
        from finalURL: String? = nil
    ) throws {
        let content = status < 300 ? Self.content(task.url) : Data("an error page".utf8)
        var fields = headers
        var status = status
        var body = content
        if task.resumeData != nil, status == 200 {
            status = 206
            let start = max(1, content.count / 2)
            fields["Content-Range"] = "bytes \(start)-\(content.count - 1)/\(content.count)"
            if isTailOnly { body = content.dropFirst(start) }
        } else {
            fields["Content-Length"] = "\(content.count)"
        }
        var event = SpoolDirectory.StoredEvent(.finished, description: task.description)
        event.head = DaemonResponseHead(status: status, headers: fields, url: finalURL ?? task.url)
        try end(task, event, Data(body), received: content.count)
    }

    /// Finishes a task with exactly this response.
    package func finish(
        _ task: SpoolDirectory.StoredTask, status: Int, body: Data, headers: HeaderFields
    ) throws {
        var event = SpoolDirectory.StoredEvent(.finished, description: task.description)
        event.head = DaemonResponseHead(status: status, headers: headers, url: task.url)
        try end(task, event, body, received: body.count)
    }

    /// Ends a task with an error.
    ///
    /// - Parameter reason: The number of Apple's reason for a cancellation, or any other text for an error of the
    ///   network.
    package func fail(
        _ task: SpoolDirectory.StoredTask, reason: String, isRetryable: Bool = false, resumeData: Data? = nil
    ) throws {
        var event = SpoolDirectory.StoredEvent(.failed, description: task.description)
        (event.reason, event.isRetryable, event.resumeData) = (reason, isRetryable, resumeData)
        try end(task, event)
    }

    /// Replaces a task by the event of its end, in one step for those who list tasks, unless it has ended already.
    ///
    /// - Parameter received: The number of bytes of a body, which are reported as progress before the end.
    private func end(
        _ task: SpoolDirectory.StoredTask, _ event: SpoolDirectory.StoredEvent, _ body: Data? = nil,
        received: Int = 0
    ) throws {
        try directory.exclusively {
            guard directory.remove(task) else { return }
            var event = event
            if let body {
                var task = task
                (task.received, task.expected) = (Int64(received), Int64(received))
                if received > 0 { try reportProgress(of: task) }
                event.file = try directory.makeFile(body)
            }
            try directory.add(event)
        }
    }

    /// Reports that all events were delivered.
    package func reportAllDelivered() throws {
        try directory.add(SpoolDirectory.StoredEvent(.allDelivered))
    }
}
