package import AsyncDownloads
package import Foundation

/// The state of a scripted transfer service, as files, so that clients and service can be different processes.
///
/// - `tasks/ID.json`: a task that has not ended.
/// - `done/ID.tmp`: the file of a task that has finished, until its event was delivered.
/// - `events/NUMBER.json`: the events that wait to be delivered, in the order of their numbers.
/// - `requests/ID`: one file for each task that was ever started, by which repeated fetches are counted.
/// - `held/SESSION`: one file for each session that another process uses.
package struct SpoolDirectory: Sendable {
    /// A task as its client has requested it.
    package struct StoredTask: Codable, Sendable {
        package var id: String
        package var description: String?
        package var url: String
        package var resumeData: Data?
        package var earliestBegin: Int64?
        package var expectedByteCount: Int64?
        /// The identifier of the session.
        package var session: String?
        /// The headers of the request, as name and value pairs.
        package var headers: [[String]]?
        package var received: Int64 = 0
        package var expected: Int64?
    }

    /// An event that waits to be delivered.
    package struct StoredEvent: Codable, Sendable {
        package enum Kind: String, Codable, Sendable { case finished, progressed, ended, failed, allDelivered }

        package var kind: Kind
        package var description: String?
        /// The name of the file in `done`.
        package var file: String?
        package var head: DaemonResponseHead?
        package var received: Int64 = 0
        package var expected: Int64?
        /// The reason of a failure: a number as Apple's systems report it, `cancelled`, or an error code.
        package var reason: String?
        package var isRetryable = false
        package var resumeData: Data?
        package var delaysResumeData = false

        package init(_ kind: Kind, description: String? = nil) {
            self.kind = kind
            self.description = description
        }
    }

    package let root: URL

    /// Uses the directory `root`, which is created if necessary.
    package init(_ root: URL) throws {
        self.root = root
        for name in ["tasks", "done", "events", "requests", "held"] {
            try FileManager.default.createDirectory(
                at: root.appending(path: name), withIntermediateDirectories: true)
        }
    }

    /// Runs `body` exclusively: no other process, and no other call, does so at the same time on the same directory.
    package func exclusively<Value>(_ body: () throws -> Value) throws -> Value {
        let descriptor = open(root.appending(path: "lock").path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
        // The lock ends with the descriptor, even when the process is killed.
        defer { close(descriptor) }
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { throw CocoaError(.fileWriteUnknown) }
        }
        return try body()
    }

    private func url(_ folder: String, _ name: String) -> URL { root.appending(path: folder).appending(path: name) }

    private func names(_ folder: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)) ?? [])
            .filter { !$0.hasPrefix(".") }.sorted()
    }

    // MARK: Sessions

    /// Gives a session to another process, or takes it back.
    package func hold(_ session: String, elsewhere isHeld: Bool) throws {
        if isHeld { try Data().write(to: url("held", session)) } else { unlink(url("held", session).path) }
    }

    func isHeldElsewhere(_ session: String) -> Bool {
        FileManager.default.fileExists(atPath: url("held", session).path)
    }

    // MARK: Tasks

    /// Adds a task; the file is complete as soon as it has its name.
    package func add(_ task: StoredTask) throws {
        try Data().write(to: url("requests", task.id))
        try save(task)
    }

    package func save(_ task: StoredTask) throws {
        let temporary = url("tasks", ".\(task.id).\(UInt64.random(in: .min ... .max))")
        try JSONEncoder().encode(task).write(to: temporary)
        _ = rename(temporary.path, url("tasks", "\(task.id).json").path)
    }

    package var tasks: [StoredTask] {
        names("tasks").compactMap { name in
            (try? Data(contentsOf: url("tasks", name))).flatMap {
                try? JSONDecoder().decode(StoredTask.self, from: $0)
            }
        }
    }

    /// Removes a task; false if it has ended already, which another process may have been faster to do.
    package func remove(_ task: StoredTask) -> Bool { unlink(url("tasks", "\(task.id).json").path) == 0 }

    /// The number of tasks that were ever started.
    package var requestCount: Int { names("requests").count }

    // MARK: Files and events

    /// Writes the file of a finished task, and returns its name.
    package func makeFile(_ bytes: Data) throws -> String {
        let name = "\(UUID().uuidString).tmp"
        try bytes.write(to: url("done", name))
        return name
    }

    package func path(ofFile name: String) -> String { url("done", name).path }

    package func removeFile(_ name: String) { unlink(url("done", name).path) }

    /// Adds an event behind all others.
    package func add(_ event: StoredEvent) throws {
        let temporary = url("events", ".\(UUID().uuidString)")
        try JSONEncoder().encode(event).write(to: temporary)
        // Two processes may add an event at the same time, so a number is taken by a link, which replaces nothing.
        while true {
            let last = names("events").last.flatMap { Int($0.prefix(12)) } ?? 0
            let name = String(format: "%012d.json", max(last, 0) + 1)
            if link(temporary.path, url("events", name).path) == 0 { break }
        }
        unlink(temporary.path)
    }

    /// The names of the events that wait, in order.
    package var eventNames: [String] { names("events").filter { $0.hasSuffix(".json") } }

    package func event(_ name: String) -> StoredEvent? {
        (try? Data(contentsOf: url("events", name))).flatMap { try? JSONDecoder().decode(StoredEvent.self, from: $0) }
    }

    package func removeEvent(_ name: String) { unlink(url("events", name).path) }
}
