internal import Foundation

/// The delivery of a complete file: verification, then placement at the destination of each subscriber.
///
/// Subscribers may attach while the file is verified and placed. They are served in additional rounds: from the partial
/// file while it exists, and then from a file that was placed. Every method may block on the disk.
struct FileDelivery {
    /// A subscriber that receives the file.
    struct Recipient: Sendable {
        let id: SubscriberID
        let request: DownloadRequest
        /// The state of the default name when the download began, if known.
        var formerFile: FormerFile?
    }

    private let partial: PartialFile
    let length: Int64
    let fetched: Int64
    let responses: [ResponseHead]
    let representation: Representation
    let key: TransferKey
    let digest: HashDigest
    let location: PartialLocation
    let environment: TransferEnvironment
    private var digests: TransferDigests

    /// The outcomes of the served subscribers, by subscriber number.
    private(set) var results: [SubscriberID: Subscriber.Outcome] = [:]
    /// The path of a file that was placed; nil before one is placed.
    private var placedPath: String?
    private var data: Result<Data, DownloadError>?
    /// The reason why the partial file can no longer serve any subscriber.
    private var failure: DownloadError?

    /// - Parameters:
    ///   - partial: The partial file, which has all `length` bytes of the representation.
    ///   - key: The transfer's key, whose digest identifies its reservations of destinations.
    ///   - fetched: The number of bytes that were received from the network.
    ///   - responses: The heads of the responses that led to the representation.
    ///   - digests: The digests that were computed while the bytes arrived.
    init(
        _ partial: PartialFile, length: Int64, of representation: Representation, key: TransferKey,
        at location: PartialLocation, fetched: Int64, responses: [ResponseHead] = [],
        digests: TransferDigests, environment: TransferEnvironment
    ) {
        self.partial = partial
        self.length = length
        self.representation = representation
        self.key = key
        digest = key.digest
        self.location = location
        self.fetched = fetched
        self.responses = responses
        self.digests = digests
        self.environment = environment
    }

    /// Verifies bytes that were received with different validators, by the checksum that permitted keeping them.
    ///
    /// The partial file is discarded after a mismatch, and closed after any other error.
    mutating func verify(by checksum: Checksum) throws(DownloadError) {
        do throws(DownloadError) {
            try check(checksum, isServers: false)
        } catch {
            if error.code == .checksumMismatch { partial.discard() } else { partial.close() }
            throw error
        }
    }

    /// The targets of a round.
    struct Round: Sendable {
        /// The common properties of recipients that share one file.
        fileprivate struct Key: Hashable {
            let place: PlacementTarget.Place
            let replacesFiles: Bool
        }

        fileprivate var targets: [PlacementTarget] = []
        fileprivate var recipients: [Key: [Recipient]] = [:]
    }

    /// Serves the recipients that need no file, and returns the targets of the others, or nil if all need none.
    ///
    /// - Parameters:
    ///   - recipients: The recipients, which have no result yet.
    ///   - serverDigest: The digest that the server sent. It is checked for recipients that expect no checksum.
    mutating func prepare(_ recipients: [Recipient], serverDigest: Checksum?) -> Round? {
        var round = Round()
        for recipient in recipients {
            let expected = recipient.request.checksum
            do throws(DownloadError) {
                if let failure { throw failure }
                if let error = recipient.request.lengthError(length) { throw error }
                if let wanted = expected ?? serverDigest { try check(wanted, isServers: expected == nil) }
            } catch {
                results[recipient.id] = .failure(error)
                continue
            }
            guard let target = target(for: recipient) else {
                results[recipient.id] = contents().map { file(nil, of: recipient.request, data: $0) }
                continue
            }
            if round.recipients[target.key] == nil { round.targets.append(target) }
            round.recipients[target.key, default: []].append(recipient)
        }
        // Targets that don't replace files come first; otherwise, a file that another recipient has just placed would
        // block them.
        round.targets = round.targets.filter { !$0.replacesFiles } + round.targets.filter(\.replacesFiles)
        return round.targets.isEmpty ? nil : round
    }

    /// Places the file, or copies of it, at the targets of a round.
    ///
    /// - Parameters:
    ///   - isWanted: A closure that returns whether a file may still be placed; if not, the outcomes are empty.
    ///   - completion: A closure that is called with the outcomes if the function returns nil.
    /// - Returns: The outcome for each target, or nil if `completion` is called with them, on any thread.
    func place(
        _ round: Round, ifWanted isWanted: @escaping @Sendable () -> Bool, completion: @escaping PlacementCompletion
    ) -> [PlacementOutcome]? {
        let paths = round.targets.compactMap { target in
            if case .path(let path, _) = target.place { path } else { nil }
        }
        guard placedPath != nil || paths.contains(where: { environment.destinations.isBeingPlaced($0, before: digest) })
        else {
            return partial.place(at: round.targets, length: length, ifWanted: isWanted, completion: completion)
        }
        // Copying and waiting may take long, and the other transfer may need the thread.
        BlockingThreads.run {
            for path in paths { environment.destinations.waitUntilFree(path, for: digest) }
            if let placedPath {
                let (store, isWanted) = (environment.store, isWanted())
                completion(isWanted ? store.place(copyOf: placedPath, at: round.targets, for: location) : [])
            } else {
                let outcomes = partial.place(
                    at: round.targets, length: length, ifWanted: isWanted, completion: completion)
                if let outcomes { completion(outcomes) }
            }
        }
        return nil
    }

    /// Records the outcomes for the targets of a round; the outcomes are empty if the file is no longer wanted.
    mutating func record(_ outcomes: [PlacementOutcome], of round: Round) {
        let outcomes = placedPath == nil ? keepUnplaced(outcomes) : outcomes
        for (target, outcome) in zip(round.targets, outcomes) {
            for recipient in round.recipients[target.key] ?? [] {
                results[recipient.id] = outcome.map { file($0, of: recipient.request) }
                    .flatMapError { error in
                        keptFile(of: recipient.request, after: error).map { .success($0) } ?? .failure(error)
                    }
            }
        }
    }

    /// Keeps the bytes for a later request if a target has no file, and records their number in its error.
    private mutating func keepUnplaced(_ outcomes: [PlacementOutcome]) -> [PlacementOutcome] {
        placedPath = outcomes.lazy.compactMap { try? $0.get() }.first
        guard outcomes.contains(where: { $0.failure != nil }) else { return outcomes }
        let kept = keep()
        let results = outcomes.map { outcome in outcome.mapError { $0.keeping(kept) } }
        if placedPath == nil, case .failure(let error)? = results.first { failure = error }
        return results
    }

    /// Discards or closes the partial file if it was not moved to a destination.
    ///
    /// - Parameter isDiscarded: Whether no subscriber wants its bytes.
    func finish(isDiscarded: Bool) {
        guard placedPath == nil, failure == nil else { return }
        // Unneeded bytes are kept only if they may be correct, that is, if reading them has failed.
        let isOver =
            isDiscarded
            || results.values.contains {
                $0.failure.map { [.checksumMismatch, .unexpectedByteCount].contains($0.code) } ?? true
            }
        if isOver { partial.discard() } else { _ = keep() }
    }

    private mutating func check(_ wanted: Checksum, isServers: Bool) throws(DownloadError) {
        let hex: String
        if placedPath == nil {
            hex = try digests.finish(wanted.algorithm, length: length, reading: partial.read)
        } else {
            hex = try digestOfPlacedFile(wanted.algorithm)
        }
        guard hex != wanted.hex else { return }
        let source = isServers ? "the server's Repr-Digest is" : "expected"
        throw DownloadError(.checksumMismatch, "\(wanted.algorithm.rawValue) is \(hex), \(source) \(wanted.hex)")
    }

    private mutating func digestOfPlacedFile(_ algorithm: Checksum.Algorithm) throws(DownloadError) -> String {
        // A complete digest needs no more bytes.
        let file = digests.position(of: [algorithm]) < length ? try contentsOfPlacedFile(isMapped: true) : Data()
        return try digests.finish(algorithm, length: length) { buffer, offset in
            let start = min(Int(offset), file.count)
            let count = min(buffer.count, file.count - start)
            file.copyBytes(to: buffer, from: start..<start + count)
            return count
        }
    }

    /// Returns the bytes for subscribers that want them in memory; the bytes are read only once.
    private mutating func contents() -> Result<Data, DownloadError> {
        let result =
            data
            ?? Result { () throws(DownloadError) in
                try placedPath == nil ? partial.contents(length: length) : contentsOfPlacedFile()
            }
        if case .success = result { data = result }
        return result
    }

    /// Returns the contents of the file that was placed.
    ///
    /// - Parameter isMapped: Whether the caller finishes using the bytes before anything may change the file.
    private func contentsOfPlacedFile(isMapped: Bool = false) throws(DownloadError) -> Data {
        do {
            return try Data(contentsOf: URL(fileURLWithPath: placedPath ?? ""), options: isMapped ? .mappedIfSafe : [])
        } catch {
            throw DownloadError(.storageFailure, "the file that was placed cannot be read", underlyingError: error)
        }
    }

    /// Keeps a complete file that could not be placed, for a later request.
    ///
    /// - Returns: The number of kept bytes.
    private func keep() -> Int64 {
        partial.updateRepresentation(representation)
        do throws(DownloadError) {
            try partial.save(IntervalSet(0..<length))
        } catch {
            environment.log.notice("no checkpoint", error)
        }
        return partial.close().count
    }
}

extension PlacementTarget {
    fileprivate var key: FileDelivery.Round.Key { .init(place: place, replacesFiles: replacesFiles) }
}

extension DownloadError {
    fileprivate func keeping(_ count: Int64) -> Self {
        var error = self
        error.retainedByteCount = count
        return error
    }
}
