/// The identity of one attempt of one recorded download, which is the description of its task.
///
/// Descriptions are the only property by which tasks are matched with records: URLs change with redirects, and the
/// numbers of tasks are reused.
struct DaemonTaskName: Sendable, Hashable {
    /// The token of the journal, so that a task of a journal that was removed is not mistaken for one of this journal.
    let journal: String
    /// The number of the record in the journal.
    let record: Int
    /// The number of the attempt, so that a late event of a canceled task is not mistaken for one of its successor.
    let attempt: Int

    init(journal: String, record: Int, attempt: Int) {
        self.journal = journal
        self.record = record
        self.attempt = attempt
    }

    /// The version of the text, which changes when its meaning does.
    private static let prefix = "async-downloads/1"

    /// The text that is given to the service.
    var text: String { "\(Self.prefix)/\(journal)/\(record)/\(attempt)" }

    /// Parses the text of a task; nil if it has none, or if this version of the package has not written it.
    init?(_ text: String?) {
        guard let text, text.utf8.count <= 200 else { return nil }
        let words = text.split(separator: "/", omittingEmptySubsequences: false)
        guard words.count == 5, "\(words[0])/\(words[1])" == Self.prefix, !words[2].isEmpty,
            let record = Int(words[3]), record > 0, let attempt = Int(words[4]), attempt > 0
        else { return nil }
        self.init(journal: String(words[2]), record: record, attempt: attempt)
        guard self.text == text else { return nil }
    }

    /// The start of the names of the attempt's files in the spool.
    var fileStem: String { "\(record)-\(attempt)" }
}
