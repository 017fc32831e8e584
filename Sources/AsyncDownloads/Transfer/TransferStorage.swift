/// The location of a transfer's bytes, and the state of the queue's work on them.
struct TransferStorage: Sendable {
    /// The location of the bytes, at present or when the partial file is opened.
    private(set) var location: PartialLocation
    /// The previous location of the bytes, before they had to continue at ``location``; nil if the partial file was
    /// opened there.
    private(set) var formerLocation: PartialLocation?
    /// The partial file; nil unless it is open.
    private(set) var partial: PartialFile?
    /// The digests of the bytes in ``partial``.
    private(set) var digests = TransferDigests()
    /// Whether the bytes are being moved to disk on the transfer's queue.
    private(set) var isMovingToDisk = false
    /// The number of requested preparations of the partial file (starts and records) that the transfer's queue has not
    /// performed.
    ///
    /// The exchange that has requested a preparation may have ended. Bytes of a later exchange are queued after the
    /// preparation, so that they aren't discarded, and aren't marked in an earlier checkpoint.
    private var preparationCount = 0
    /// The file from which bytes were imported, until a server has confirmed them.
    private var importedFile: ImportedFile?

    init(location: PartialLocation) {
        self.location = location
    }

    /// Creates the storage of a transfer that begins where an ended transfer has left its bytes.
    init(after other: Self) {
        (location, formerLocation) = (other.location, other.formerLocation)
    }

    /// Whether bytes are written on the transfer's queue, after its pending work.
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
            // The bytes of a file stay at their location, because they may be too many for memory.
            locate(at: kept)
        }
    }

    /// Continues at another location, because the present one has failed.
    mutating func relocate(to next: PartialLocation) {
        // After several failures, the first failed location is the one with the bytes.
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

    /// Records that the partial file is no longer used, and returns its location.
    @discardableResult
    mutating func closed() -> PartialLocation? {
        defer { partial = nil }
        return partial?.location
    }

    /// Whether the partial file is open, and its bytes are in memory.
    var isInMemory: Bool { partial?.isInMemory == true }

    /// Starts a move of the bytes from memory to disk, and returns whether any bytes have to be moved.
    mutating func beginMove() -> Bool {
        guard !isMovingToDisk, isInMemory else { return false }
        isMovingToDisk = true
        return true
    }

    /// Records the end of a move and the present location of the bytes; nil if they are still in memory.
    mutating func endMove(at location: PartialLocation?) {
        isMovingToDisk = false
        if let location { locate(at: location) }
    }

    /// Records that the queue has to prepare the partial file for a body.
    mutating func preparationRequested() {
        preparationCount += 1
    }

    /// Records that the queue has prepared the partial file for a body, or no longer needs to.
    mutating func preparationPerformed() {
        preparationCount -= 1
    }
}

// MARK: - Digests and imported bytes

extension TransferStorage {
    /// Restarts the digests, because bytes can't be removed from a digest.
    mutating func resetDigests() {
        digests = TransferDigests()
    }

    /// Returns whether a turn of the digests is due; if so, counts it as started.
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

    /// Removes and returns the file from which the bytes were imported.
    mutating func takeImportedFile() -> ImportedFile? { importedFile.take() }
}
