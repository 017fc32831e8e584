/// The background sessions of a process, by identifier.
///
/// The system permits one session for each identifier and process, so a session is kept here after its client is
/// released, and the next client with the identifier uses it.
package final class BackgroundSessions: Sendable {
    private struct Entry {
        let session: BackgroundSession
        var isClaimed: Bool
    }

    let environment: BackgroundEnvironment
    private let entries = Mutex<[String: Entry]>([:])

    package init(_ environment: BackgroundEnvironment) {
        self.environment = environment
    }

    /// Returns the session of an identifier to its only client.
    func claim(
        _ identifier: String, _ settings: BackgroundSession.ClientSettings
    ) -> Result<BackgroundSession, DownloadError> {
        let session: BackgroundSession? = entries.withLock { entries in
            if let entry = entries[identifier] {
                guard !entry.isClaimed else { return nil }
                entries[identifier]?.isClaimed = true
                return entry.session
            }
            let session = BackgroundSession(identifier: identifier, environment: environment, settings: settings)
            entries[identifier] = Entry(session: session, isClaimed: true)
            return session
        }
        guard let session else {
            return .failure(
                DownloadError(.sessionInUse, "another downloader uses the background session \(identifier)"))
        }
        session.use(settings)
        return .success(session)
    }

    /// Makes a session available to the next client.
    func release(_ identifier: String) {
        entries.withLock { $0[identifier]?.isClaimed = false }
    }

    /// Returns the session and the generation for the system's session identifier; nil if the identifier is unknown.
    ///
    /// A session without a client is created with the options in its journal.
    func session(for systemIdentifier: String) -> (session: BackgroundSession, generation: Int)? {
        guard environment.makeDaemon != nil else { return nil }
        for (identifier, generation) in Self.candidates(systemIdentifier) {
            let isKnown = entries.withLock { $0[identifier] != nil }
            let isRecorded = isKnown || hasJournal(identifier)
            let session: BackgroundSession? = entries.withLock { entries in
                if let entry = entries[identifier] { return entry.session }
                guard isRecorded else { return nil }
                let session = BackgroundSession(identifier: identifier, environment: environment, settings: nil)
                entries[identifier] = Entry(session: session, isClaimed: false)
                return session
            }
            if let session { return (session, generation) }
        }
        return nil
    }

    private func hasJournal(_ identifier: String) -> Bool {
        guard let directory = environment.directory(of: identifier, group: nil) else { return false }
        // An unreadable journal still belongs to this package, and reading it would take time on the main thread.
        do throws(FileFailure) {
            return try environment.disk.information(at: PartialNames.join(directory, "journal")) != nil
        } catch {
            return error.kind != .missing
        }
    }

    private static func candidates(_ text: String) -> [(identifier: String, generation: Int)] {
        var candidates = [(text, 0)]
        let words = text.split(separator: ".", omittingEmptySubsequences: false)
        if let last = words.last, last.hasPrefix("generation-"), let number = Int(last.dropFirst(11)), number > 0 {
            candidates.append((words.dropLast().joined(separator: "."), number))
        }
        return candidates
    }

    /// Waits until the events of a system session have been processed; returns false if its identifier is unknown.
    func handleEvents(for systemIdentifier: String) async -> Bool {
        guard let (session, generation) = session(for: systemIdentifier) else { return false }
        await session.eventsDelivered(generation: generation)
        return true
    }
}

/// The exclusive right of one downloader to use a background session, until it is released.
final class BackgroundClient: Sendable {
    /// The claimed session, or the error of the claim.
    let session: Result<BackgroundSession, DownloadError>
    private let sessions: BackgroundSessions
    private let isOpen = Mutex(true)

    init(_ identifier: String, _ settings: BackgroundSession.ClientSettings, in sessions: BackgroundSessions) {
        self.sessions = sessions
        session = settings.options.validationError.map { .failure($0) } ?? sessions.claim(identifier, settings)
    }

    /// The session while it belongs to this client, or the error with which every request fails.
    var openSession: Result<BackgroundSession, DownloadError> {
        isOpen.withLock { $0 } ? session : .failure(DownloadError(.shutDown))
    }

    /// Ends the handles and makes the session available to another client; the system's tasks continue.
    func shutDown() async {
        guard close(), case .success(let session) = session else { return }
        await session.shutDown()
        sessions.release(session.identifier)
    }

    private func close() -> Bool {
        isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
    }

    deinit {
        if case .success(let session) = session, close() { sessions.release(session.identifier) }
    }
}
