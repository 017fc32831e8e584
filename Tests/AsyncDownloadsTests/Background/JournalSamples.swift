@testable import AsyncDownloads

extension BackgroundJournal {
    /// A journal whose downloads have the stages, in their order, each with one destination.
    static func sample(
        _ stages: [BackgroundRecord.Stage] = [], options: BackgroundOptions = BackgroundOptions()
    ) -> BackgroundJournal {
        var journal = BackgroundJournal(identifier: "session", token: "0123456789abcdef", options: options)
        for (index, stage) in stages.enumerated() {
            let id = journal.add(BackgroundResource(url: "https://example.org/\(index + 1)"))
            journal.update(id) { record in
                record.stage = stage
                record.attempt = stage == .idle(resumeData: nil) ? 0 : 1
                record.deliveries = [.init(id: 1, destination: ContainerPath(base: .home, relative: "files/\(id)"))]
            }
        }
        return journal
    }

    /// The name of the task of a record's attempt.
    func name(_ record: Int, attempt: Int = 1) -> DaemonTaskName {
        DaemonTaskName(journal: token, record: record, attempt: attempt)
    }
}

extension BackgroundRecord.Stage {
    /// A task that the system has accepted.
    static var running: Self { .handedOver(.init(resumeData: nil, isConfirmed: true)) }

    /// A task that continues from resume data, and that the system has accepted.
    static var resumed: Self { .handedOver(.init(resumeData: "1-0.resume", isConfirmed: true)) }
}

extension Spool.Body {
    /// A body of `byteCount` bytes with a response.
    static func sample(
        _ name: DaemonTaskName, status: Int = 200, byteCount: Int64 = 10, headers: HeaderFields = [:],
        url: String = "https://example.org/1"
    ) -> Self {
        Self(
            fileName: "\(name.record)-\(name.attempt).body", inode: 7, modificationTime: 5, byteCount: byteCount,
            head: DaemonResponseHead(status: status, headers: headers, url: url))
    }
}
