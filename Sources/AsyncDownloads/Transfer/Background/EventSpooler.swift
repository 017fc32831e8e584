internal import struct Foundation.Data

/// A receiver of a session's events that keeps what would be lost when a callback returns.
///
/// A file is moved into the spool, and resume data is written there. All other work is done later, on the session's
/// queue: slow work in the callback for a finished file makes the system lose other completions.
final class EventSpooler: DaemonEventReceiver {
    private let session: BackgroundSession
    private let spool: Spool
    private let token: String
    private let generation: Int
    private let connection: Int

    init(session: BackgroundSession, spool: Spool, token: String, generation: Int, connection: Int) {
        self.session = session
        self.spool = spool
        self.token = token
        self.generation = generation
        self.connection = connection
    }

    func taskFinished(_ description: String?, at path: String, _ head: DaemonResponseHead?) {
        guard let name = name(description) else { return }
        // Without its head, the response can't be used.
        guard let head else { return pass(.failed(name, .fileMissing, resumeData: nil)) }
        do throws(FileFailure) {
            pass(.finished(name, try spool.receive(name, from: path, head)))
        } catch {
            let reason: DaemonFailure.Reason = error.kind == .missing ? .fileMissing : .notStored(DownloadError(error))
            pass(.failed(name, reason, resumeData: nil))
        }
    }

    func taskProgressed(_ description: String?, received: Int64, expected: Int64?) {
        guard let name = name(description) else { return }
        pass(.progressed(name, received: received, expected: expected))
    }

    func taskEnded(_ description: String?, _ failure: DaemonFailure?) {
        guard let name = name(description) else { return }
        guard let failure else { return pass(.ended(name)) }
        let resumeData = failure.resumeData.flatMap { data -> String? in
            data.isEmpty ? nil : try? spool.saveResumeData(Array(data), of: name)
        }
        spool.saveFailure(failure.reason, of: name)
        pass(.failed(name, failure.reason, resumeData: resumeData))
    }

    func resumeDataArrived(_ description: String?, _ resumeData: Data) {
        guard let name = name(description), !resumeData.isEmpty,
            let file = try? spool.saveResumeData(Array(resumeData), of: name)
        else { return }
        pass(.resumeDataArrived(name, file))
    }

    func sessionInvalidated(_ error: DownloadError?) {
        session.submit { [generation, connection] in $0.disconnected(generation, connection, error) }
    }

    func allEventsDelivered() {
        pass(.allDelivered(generation: generation))
    }

    /// Returns the name of a task of this journal; nil for other tasks, which are ignored.
    private func name(_ description: String?) -> DaemonTaskName? {
        guard let name = DaemonTaskName(description), name.journal == token else { return nil }
        return name
    }

    private func pass(_ event: DaemonEvent) {
        session.submit { [generation, connection] worker in
            worker.prove(generation, connection)
            worker.receive(event)
            return []
        }
    }
}
