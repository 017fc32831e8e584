@testable import AsyncDownloads

/// The model's disk with one partial file, which forgets bytes that were not saved and reports misuse.
struct ModelStore {
    private(set) var isOpen = false
    private(set) var bytes: [Int64: ModelByte] = [:]
    /// Whether the last attempt to open the partial file failed.
    private(set) var hasRefused = false
    private(set) var violations: [String] = []
    var faults: Int
    private var representation: Representation?
    private var checkpoint: (representation: Representation, received: IntervalSet)?

    init(faults: Int) {
        self.faults = faults
    }

    mutating func open(using generator: inout SplitMix64) -> Result<PartialFinding, DownloadError> {
        check(!isOpen, "opened twice")
        let result = find(using: &generator)
        hasRefused = (try? result.get()) == nil
        return result
    }

    private mutating func find(using generator: inout SplitMix64) -> Result<PartialFinding, DownloadError> {
        switch fault(1, in: 4, &generator) ? Int.random(in: 0..<5, using: &generator) : 5 {
        case 0: return .failure(DownloadError(.storageFailure))
        case 1, 2: return .failure(DownloadError(.partialInUse))
        case 3:
            let lost = checkpoint?.received.count ?? 0
            wipe()
            isOpen = true
            return .success(.unusable(.checkpointCorrupt, discarded: lost))
        case 4:
            // Another process has removed the file.
            wipe()
            isOpen = true
            return .success(.nothing)
        default:
            isOpen = true
            guard let checkpoint else {
                wipe()
                return .success(.nothing)
            }
            representation = checkpoint.representation
            bytes = bytes.filter { checkpoint.received.contains($0.key) }
            var found = checkpoint.representation
            // As if another process had received the bytes with other credentials.
            found.hasUnverifiedCredentials = Int.random(in: 0..<3, using: &generator) == 0
            return .success(.bytes(found, checkpoint.received))
        }
    }

    mutating func begin(
        _ new: Representation, using generator: inout SplitMix64
    ) -> Result<Void, DownloadError> {
        check(isOpen, "started while closed")
        if fault(1, in: 10, &generator) { return .failure(DownloadError(.diskFull)) }
        wipe()
        representation = new
        return .success(())
    }

    mutating func updateRepresentation(_ new: Representation) {
        check(isOpen, "updated while closed")
        check(representation?.validator == new.validator, "updated to another representation")
        representation = new
    }

    /// Writes bytes, and returns whether the write succeeded.
    mutating func write(_ new: ArraySlice<ModelByte>, at offset: Int64, using generator: inout SplitMix64) -> Bool {
        check(isOpen, "written while closed")
        if fault(1, in: 30, &generator) { return false }
        for (index, byte) in new.enumerated() { bytes[offset + Int64(index)] = byte }
        return true
    }

    mutating func save(_ received: IntervalSet, using generator: inout SplitMix64) {
        check(isOpen, "saved while closed")
        check(received.ranges.allSatisfy { $0.allSatisfy { bytes[$0] != nil } }, "saved bytes that were never written")
        guard let representation, !fault(1, in: 10, &generator) else { return }
        checkpoint = (representation, received)
    }

    func mark(_ received: IntervalSet) -> Bool {
        !isOpen || received.ranges.allSatisfy { $0.allSatisfy { bytes[$0] != nil } }
    }

    /// Saves what must be recorded before the transfer continues.
    mutating func record(
        _ received: IntervalSet, using generator: inout SplitMix64
    ) -> Result<Void, DownloadError> {
        check(isOpen, "recorded while closed")
        guard let representation, !fault(1, in: 10, &generator) else { return .failure(DownloadError(.diskFull)) }
        checkpoint = (representation, received)
        return .success(())
    }

    mutating func rollBack(to received: IntervalSet) {
        check(isOpen, "rolled back while closed")
        guard let representation, checkpoint != nil else { return }
        checkpoint = received.isEmpty ? nil : (representation, received)
    }

    /// Closes the partial file, and returns what the next opening will find.
    mutating func close(saving received: IntervalSet?, using generator: inout SplitMix64) -> IntervalSet {
        check(isOpen, "closed twice")
        if let received, !received.isEmpty { save(received, using: &generator) }
        isOpen = false
        return checkpoint?.received ?? IntervalSet()
    }

    /// The number of bytes that the next opening will find without a fault.
    var keptCount: Int64 { checkpoint?.received.count ?? 0 }

    mutating func discard() {
        check(isOpen, "discarded while closed")
        wipe()
        isOpen = false
    }

    /// Accepts the file, whose bytes must all be of one version unless a digest is checked.
    mutating func finish(length: Int64, checked: Bool) -> DownloadError? {
        check(isOpen, "finished while closed")
        isOpen = false
        let file = (0..<length).map { bytes[$0] }
        check(!file.contains(nil), "finished with \(file.count { $0 == nil }) of \(length) bytes missing")
        let versions = Set(file.map { $0?.version })
        if versions.count > 1, checked {
            wipe()
            return DownloadError(.checksumMismatch)
        }
        check(versions.count <= 1, "mixed the versions \(versions)")
        check(Set(file.map { $0?.isCoded }).count <= 1, "mixed codings")
        check(file.enumerated().allSatisfy { $0.element?.position == Int64($0.offset) }, "misplaced bytes")
        wipe()
        return nil
    }

    /// Whether neither bytes nor a checkpoint exist.
    var isEmpty: Bool { bytes.isEmpty && checkpoint == nil }

    /// Returns whether these bytes are at `offset`.
    func holds(_ wanted: ArraySlice<ModelByte>, at offset: Int64) -> Bool {
        wanted.enumerated().allSatisfy { bytes[offset + Int64($0.offset)] == $0.element }
    }

    /// Returns whether every byte of `received` was written.
    func holds(_ received: IntervalSet) -> Bool {
        received.count <= Int64(bytes.count) && received.ranges.allSatisfy { bytes[$0.upperBound - 1] != nil }
    }

    private mutating func wipe() {
        (bytes, representation, checkpoint) = ([:], nil, nil)
    }

    private mutating func fault(_ count: Int, in total: Int, _ generator: inout SplitMix64) -> Bool {
        guard faults > 0, Int.random(in: 0..<total, using: &generator) < count else { return false }
        faults -= 1
        return true
    }

    private mutating func check(_ condition: Bool, _ violation: @autoclosure () -> String) {
        if !condition { violations.append(violation()) }
    }
}

extension IntervalSet {
    fileprivate func contains(_ position: Int64) -> Bool { ranges.contains { $0.contains(position) } }
}
