/// Where the bytes of a transfer are, and what its queue does with them.
struct TransferStorage: Sendable {
    /// Where the bytes are, or will be when the partial file is opened.
    private(set) var location: PartialLocation
    /// Where the bytes were before they had to continue at ``location``; nil if the partial file was opened there.
    private(set) var formerLocation: PartialLocation?
    /// The partial file; nil unless it is open.
    private(set) var partial: PartialFile?
    /// The digests of the bytes in ``partial``.
    private(set) var digests = TransferDigests()
    /// Whether the bytes are being moved to disk on the transfer's queue.
    private(set) var isMovingToDisk = false
    /// The number of preparations of the partial file for a body, starts and records, that the transfer's queue has not
    /// performed.
    ///
    /// The exchange that has requested one may have ended. What a later exchange brings follows it in the queue, so that
    /// it isn't discarded, and isn't marked in an earlier checkpoint.
    private var preparationCount = 0
    /// The file from which bytes were imported, until a server has confirmed them.
    private var importedFile: ImportedFile?

    init(location: PartialLocation) {
        self.location = location
    }

    /// Creates the storage of a transfer that begins where another one, which has ended, has left its bytes.
    init(after other: Self) {
        (location, formerLocation) = (other.location, other.formerLocation)
    }

    /// Whether bytes are written on the transfer's queue, after what it has to do first.
    var usesQueue: Bool { isMovingToDisk || preparationCount > 0 }
}

// MARK: - The location

extension TransferStorage {
    /// Sets the location of the bytes, which were requested with the same URL and the same checksum.
    mutating func locate(at new: PartialLocation) {
        location = new.withURLAndChecksum(of: location)
    }

    /// Continues from bytes that an earlier transfer of the resource has left at another location.
    mutating func locate(continuing kept: PartialLocation) {
        if location.medium == .disk {
            formerLocation = kept
        } else {
            // The bytes of a file stay where they are, because they may be too many for memory.
            locate(at: kept)
        }
    }

    /// Continues at another location, because the present one has failed.
    mutating func relocate(to next: PartialLocation) {
        // The first failure of several leads to the location with the bytes.
        if formerLocation == nil { formerLocation = location }
        locate(at: next)
    }
}

// MARK: - The partial file

extension TransferStorage {
    /// Records the partial file that was opened; nil if opening it has failed.
    mutating func opened(_ partial: PartialFile?) {
        self.partial = partial
        digests = TransferDigests()
        if partial != nil { formerLocation = nil }
    }

    /// Records that the partial file is no longer used, and returns the location that it had.
    @discardableResult
    mutating func closed() -> PartialLocation? {
        defer { partial = nil }
        return partial?.location
    }

    /// Whether the partial file is open, and its bytes are in memory.
    var isInMemory: Bool { partial?.isInMemory == true }

    /// Starts a move of the bytes from memory to disk, and returns whether there is anything to move.
    mutating func beginMove() -> Bool {
        guard !isMovingToDisk, isInMemory else { return false }
        isMovingToDisk = true
        return true
    }

    /// Records that a move has ended, and where the bytes are now; nil if they are still in memory.
    mutating func endMove(at location: PartialLocation?) {
        isMovingToDisk = false
        if let location { locate(at: location) }
    }

    /// Records that the queue has to prepare the partial file for a body.
    mutating func preparationRequested() {
        preparationCount += 1
    }

    /// Records that the queue has prepared the partial file for a body, or doesn't need to any more.
    mutating func preparationPerformed() {
        preparationCount -= 1
    }
}

// MARK: - Digests and imported bytes

extension TransferStorage {
    /// Starts the digests anew, because bytes cannot be removed from one.
    mutating func resetDigests() {
        digests = TransferDigests()
    }

    /// Returns whether a turn of the digests is due, and counts it as started in that case.
    mutating func beginDigesting(_ wanted: Set<Checksum.Algorithm>, available: Int64) -> Bool {
        digests.begin(wanted, available: available)
    }

    /// Records the digests after a turn.
    mutating func digested(_ digests: TransferDigests) {
        self.digests = digests
    }

    /// Keeps the file from which the bytes were imported.
    mutating func keep(_ file: ImportedFile) {
        importedFile = file
    }

    /// Returns the file from which the bytes were imported, once.
    mutating func takeImportedFile() -> ImportedFile? { importedFile.take() }
}
