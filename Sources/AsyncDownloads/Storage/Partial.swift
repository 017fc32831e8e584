package import struct Foundation.Data

/// The path of a placed file, or the reason why a target received none.
package typealias PlacementOutcome = Result<String, DownloadError>

/// A closure that is called with the outcome for each target of a placement.
package typealias PlacementCompletion = @Sendable ([PlacementOutcome]) -> Void

/// An open partial file and its checkpoint, owned until ``close()``, ``discard()``, or ``place(at:length:)``.
///
/// Each of these waits for a call in progress. Afterwards every call fails or does nothing.
///
/// Calls must not be concurrent, with two exceptions: ``write(_:at:)`` and ``mark(_:epoch:)`` may run during each other,
/// ``save(_:)``, and ``read(into:at:)``, and so may ``rollBack(to:epoch:)`` during ``read(into:at:)`` if the bytes are in
/// memory. The bytes of writes that run at the same time don't overlap.
package protocol Partial: AnyObject, Sendable {
    /// The result of opening the partial; it does not change.
    var finding: PartialFinding { get }

    /// Discards the existing file and creates an empty one for `representation`.
    ///
    /// The old checkpoint is removed before the first byte of the new representation is written, so that after a crash
    /// no checkpoint describes bytes of another representation. After an error the partial accepts no bytes until
    /// another call of this method succeeds.
    ///
    /// Throws if there is not enough free space, if the bytes are written to a file as they arrive and the length is
    /// known.
    func begin(_ representation: Representation) throws(DownloadError)

    /// Replaces the representation by what the server now reports for the same object, and keeps the bytes.
    func updateRepresentation(_ representation: Representation)

    /// Sets the secret headers that are sent from now on, if they differ from those of the location.
    ///
    /// Until ``confirmCredentials()`` is called, a later opening requires a proof of the bytes, whatever its headers are:
    /// where only a checksum verifies the file, it may contain bytes of both.
    func useCredentials(_ headers: HeaderFields)

    /// Records that the server has proven the bytes for the credentials of the current request.
    func confirmCredentials()

    /// Writes all of `bytes` at `offset`.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DownloadError)

    /// Notes cheaply that `received` has been written, in case the process ends unexpectedly.
    ///
    /// A mark is written only if the file has a checkpoint; a mark between ``begin(_:)`` and the first ``save(_:)`` may
    /// have to wait for the checkpoint. An error is not reported, because it costs bytes only after a crash.
    ///
    /// Several threads may call this method, so that marks may arrive in another order than they were decided in. A
    /// mark of an earlier epoch, and one that claims less than an earlier mark of its epoch, are ignored.
    ///
    /// - Parameter epoch: The number of rollbacks that were decided before the mark; nil if no other mark or rollback
    ///   is on its way.
    func mark(_ received: IntervalSet, epoch: Int?)

    /// Makes the bytes of `received`, and then the checkpoint that describes them, as durable as the store promises.
    ///
    /// After the bytes cannot be synced, the partial accepts no more bytes and has to be closed and opened again.
    func save(_ received: IntervalSet) throws(DownloadError)

    /// Reduces what the checkpoint claims to `received`, regardless of earlier checkpoints and marks.
    ///
    /// In contrast, after ``save(_:)`` an earlier mark that claims more bytes remains valid. Bytes that were never
    /// claimed may be among those of `received`.
    ///
    /// - Parameter epoch: The number of rollbacks that were decided, including this one; nil if no mark or other
    ///   rollback is on its way.
    func rollBack(to received: IntervalSet, epoch: Int?) throws(DownloadError)

    /// Reads up to `buffer.count` bytes at `offset`, and returns their number; 0 at the end of the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DownloadError) -> Int

    /// Returns the first `length` bytes, all of which must have been received.
    func contents(length: Int64) throws(DownloadError) -> Data

    /// Whether bytes may be written far behind the others.
    ///
    /// If not, the bytes in between would be filled with zeros, which takes memory, or as long as writing them.
    var allowsGaps: Bool { get }

    /// Whether the bytes are in memory only.
    var isInMemory: Bool { get }

    /// Whether operations may wait until the disk has written many bytes; saving always may.
    var waitsForDisk: Bool { get }

    /// Moves the bytes from memory to disk and syncs them; does nothing if they are already on disk.
    ///
    /// Bytes may be written at the same time; such a write does not wait for the sync.
    func moveToDisk() throws(DownloadError)

    /// The device number of the volume that holds the bytes, or nil if they are in memory.
    var volume: UInt64? { get }

    /// Places the finished file of `length` bytes at all targets and removes all files of the partial.
    ///
    /// Each target receives the file atomically, and only after the bytes are as durable as the store promises. The
    /// first target receives the file itself, the others receive clones or copies. The results are the paths of the
    /// placed files. Errors are reported per target; after an error the partial is kept unless another target received
    /// the file.
    func place(at targets: [PlacementTarget], length: Int64) -> [PlacementOutcome]

    /// Places the finished file as ``place(at:length:)-([PlacementTarget],_)`` does, without waiting for the disk if
    /// the store can place several files together.
    ///
    /// - Parameters:
    ///   - isWanted: A closure that returns whether the file may still be placed. It is called before the first target
    ///     receives a file, on any thread. If it returns false, there are no results, and the partial is kept.
    ///   - completion: A closure that is called with the results if the function returns nil, once, on any thread.
    /// - Returns: The results, or nil if `completion` is called with them, also if another thread waits for the disk.
    func place(
        at targets: [PlacementTarget], length: Int64, ifWanted isWanted: @escaping @Sendable () -> Bool,
        completion: @escaping PlacementCompletion
    ) -> [PlacementOutcome]?

    /// Releases the partial and keeps it on disk as last saved or marked.
    ///
    /// Returns what another process would find now: fewer bytes than were written if the disk failed to save them, and
    /// none if another owner has the partial.
    @discardableResult
    func close() -> IntervalSet

    /// Releases the partial and removes all its files.
    func discard()
}
