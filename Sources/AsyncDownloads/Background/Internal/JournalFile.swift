/// The file that contains a journal.
///
/// The file is replaced as a whole and synced, including its name. A file that cannot be read is never taken for an
/// empty one: before the first unlock of a device, for example, reading fails although downloads are recorded.
struct JournalFile: Sendable {
    /// The result of reading the file.
    enum Reading: Sendable {
        /// The file does not exist, so no download is recorded.
        case missing
        case journal(BackgroundJournal)
        /// The file exists, and its contents are unknown. It must not be overwritten.
        case unreadable(DownloadError)
    }

    private static let kind = "journal"
    /// The size of the largest file that is read; a record has less than a kilobyte.
    static let maximumSize = 256 << 20

    let disk: any FileSystem
    let path: String
    private let limit: Int

    init(disk: any FileSystem, path: String, limit: Int = Self.maximumSize) {
        self.disk = disk
        self.path = path
        self.limit = limit
    }

    /// Reads the file.
    func read() -> Reading {
        let bytes: [UInt8]
        do throws(FileFailure) {
            bytes = try disk.contents(of: path, limit: limit)
        } catch {
            if error.kind == .missing { return .missing }
            let isTemporary = error.kind == .denied || error.kind == .tooManyOpenFiles
            return .unreadable(
                DownloadError(
                    .journalUnreadable, error.description, underlyingError: error, isRetryable: isTemporary))
        }
        do throws(CheckedDocument.Fault) {
            return .journal(
                try CheckedDocument.decode(
                    BackgroundJournal.self, from: bytes, kind: Self.kind, version: BackgroundJournal.format))
        } catch {
            let detail =
                switch error {
                case .corrupt: "its contents are damaged"
                case .version(let version): "it has format \(version) of another version of this package"
                }
            return .unreadable(DownloadError(.journalUnreadable, detail))
        }
    }

    /// Returns the journal in the file; nil if the file does not exist.
    func journal() throws(DownloadError) -> BackgroundJournal? {
        switch read() {
        case .missing: nil
        case .journal(let journal): journal
        case .unreadable(let error): throw error
        }
    }

    /// Replaces the contents, which are durable when this function returns.
    func write(_ journal: BackgroundJournal) throws(DownloadError) {
        let bytes: [UInt8]
        do {
            bytes = try CheckedDocument.encode(journal, kind: Self.kind, version: BackgroundJournal.format)
        } catch {
            throw DownloadError(.storageFailure, "the journal cannot be encoded", underlyingError: error)
        }
        do throws(FileFailure) {
            try disk.replaceContents(of: path, by: bytes, isSynced: true)
        } catch {
            throw DownloadError(error)
        }
    }
}
