/// What is known of the files that were at the destinations of a transfer's subscribers before its own file.
struct ExaminedFiles: Sendable {
    private var rejected: [SubscriberID: [FileInformation]] = [:]
    private var former: [SubscriberID: FormerFile] = [:]

    /// Returns whether the file was compared with the digest that the subscriber expects, and has another one.
    func isRejected(_ file: FileInformation, for id: SubscriberID) -> Bool {
        rejected[id, default: []].contains { $0.isUnchanged(since: file) }
    }

    /// Records that the file doesn't have the digest that the subscriber expects.
    mutating func reject(_ file: FileInformation, for id: SubscriberID) {
        rejected[id, default: []].append(file)
    }

    /// Returns what had the default name of the subscriber when its download began; nil if that isn't known.
    func formerFile(of id: SubscriberID) -> FormerFile? { former[id] }

    /// Records what has the default name of the subscriber.
    mutating func record(_ file: FormerFile, of id: SubscriberID) {
        former[id] = file
    }
}
