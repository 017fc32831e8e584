/// The examined files that existed at the subscribers' destinations before the transfer's file.
struct ExaminedFiles: Sendable {
    private var rejected: [SubscriberID: [FileInformation]] = [:]
    private var former: [SubscriberID: FormerFile] = [:]

    /// Returns whether the file was found to have another digest than the subscriber expects.
    func isRejected(_ file: FileInformation, for id: SubscriberID) -> Bool {
        rejected[id, default: []].contains { $0.isUnchanged(since: file) }
    }

    /// Records that the file doesn't have the digest that the subscriber expects.
    mutating func reject(_ file: FileInformation, for id: SubscriberID) {
        rejected[id, default: []].append(file)
    }

    /// Returns the file that had the subscriber's default name when its download began; nil if unknown.
    func formerFile(of id: SubscriberID) -> FormerFile? { former[id] }

    /// Records the file that has the subscriber's default name.
    mutating func record(_ file: FormerFile, of id: SubscriberID) {
        former[id] = file
    }
}
