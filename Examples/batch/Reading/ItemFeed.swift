internal import AsyncDownloads
internal import Foundation

/// The items of a run in their order: first from the command line, then from manifests, which are read on demand.
struct ItemFeed: ItemSource {
    /// The items that have been read.
    private var ready: ArraySlice<NextItem> = []
    /// The manifests that haven't been read to their ends.
    private var readers: ArraySlice<ManifestReader>
    private var names: NameRegister
    /// The output directory.
    private let directory: URL
    private let directoryPath: String
    private let resultPaths: [String]
    private var hasStarted = false
    /// The number of items after which no other manifest is read ahead.
    private static let countReadAhead = 1000
    /// The error after the items that have been read.
    private var failure: ManifestFailure?

    private(set) var knownCount = 0

    /// Creates a feed of items, whose names never conflict because they get numbers, and of the manifests after them.
    ///
    /// - Parameter resultPaths: The paths of the files with the results of the run, which no item may have.
    init(
        _ items: [Item], _ readers: [ManifestReader] = [], names: NameRegister = NameRegister(),
        resultPaths: [String] = [], into directory: URL
    ) {
        self.readers = readers[...]
        directoryPath = directory.resolvingSymlinksInPath().path
        self.resultPaths = resultPaths.map { path in
            let file = URL(fileURLWithPath: path)
            let directory = file.deletingLastPathComponent().resolvingSymlinksInPath()
            return directory.appending(path: file.lastPathComponent).path
        }
        self.names = names
        self.directory = directory
        for var item in items {
            _ = self.names.register(&item)
            append(item)
        }
    }

    var isComplete: Bool { readers.isEmpty }

    var cancellation: @Sendable () -> Void {
        { [readers] in for reader in readers { reader.cancel() } }
    }

    /// Reads ahead, before the first download starts, so that an error in the first lines of the manifests ends the run.
    mutating func readAhead() async throws(ManifestFailure) {
        var isFirst = true
        while ready.count < Self.countReadAhead, let reader = readers.first, isFirst || !reader.mayWait {
            _ = try await readPart()
            isFirst = false
            // More of a long manifest is read later.
            if readers.first === reader { break }
        }
        hasStarted = true
    }

    mutating func next() async throws(ManifestFailure) -> NextItem? {
        while ready.isEmpty {
            if let failure { throw failure }
            guard try await readPart() else { return nil }
        }
        return ready.popFirst()
    }

    /// Reads a part of the first manifest; returns false if there is none, or after a cancellation.
    private mutating func readPart() async throws(ManifestFailure) -> Bool {
        guard let reader = readers.first else { return false }
        let part = try await reader.next()
        if let failure = part.failure {
            guard hasStarted else { throw failure }
            self.failure = failure
        }
        if part.isLast { readers.removeFirst() }
        for entry in part.entries {
            var item = entry.item
            guard !names.register(&item) else {
                append(item)
                continue
            }
            // One file would silently replace the other.
            let misuse = Misuse("\(item.path) is already the name of the file of another URL")
            let failure = ManifestFailure(name: reader.name, line: entry.outputLine ?? entry.line, misuse: misuse)
            guard hasStarted else { throw failure }
            append(item, DownloadError(.destinationInUse, failure.description, url: item.address.url))
        }
        return part.isLast || !part.entries.isEmpty
    }

    private mutating func append(_ item: Item, _ refusal: DownloadError? = nil) {
        var (item, refusal) = (item, refusal)
        if !resultPaths.isEmpty, resultPaths.contains("\(directoryPath)/\(item.path)") {
            refusal = DownloadError(
                .destinationInUse, "\(item.path) is the file of --report or --failed", url: item.address.url)
        }
        item.id = knownCount
        item.directory = directory
        knownCount += 1
        ready.append((item, refusal))
    }
}
