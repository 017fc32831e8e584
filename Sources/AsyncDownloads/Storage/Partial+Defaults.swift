internal import Dispatch
package import struct Foundation.Data

extension Partial {
    package func contents(length: Int64) throws(DownloadError) -> Data {
        var bytes = Data(count: Int(length))
        var filled = 0
        while filled < bytes.count {
            let result = bytes.withUnsafeMutableBytes { buffer in
                Result { () throws(DownloadError) in
                    try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]), at: Int64(filled))
                }
            }
            let count = try result.get()
            guard count > 0 else { throw DownloadError(.storageFailure, "the partial file is shorter than expected") }
            filled += count
        }
        return bytes
    }

    /// Returns whether the bytes at `offset` equal `bytes`.
    package func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DownloadError) -> Bool {
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: min(bytes.count, 64 << 10), alignment: 16)
        defer { piece.deallocate() }
        var position = 0
        while position < bytes.count {
            let wanted = min(piece.count, bytes.count - position)
            let count = try read(
                into: UnsafeMutableRawBufferPointer(rebasing: piece[..<wanted]), at: offset + Int64(position))
            guard count > 0, piece[..<count].elementsEqual(bytes[position..<position + count]) else { return false }
            position += count
        }
        return true
    }

    /// Notes cheaply that `received` has been written, while no other mark or rollback is on its way.
    package func mark(_ received: IntervalSet) { mark(received, epoch: nil) }

    /// Reduces what the checkpoint claims to `received`, while no mark or other rollback is on its way.
    package func rollBack(to received: IntervalSet) throws(DownloadError) { try rollBack(to: received, epoch: nil) }

    package func useCredentials(_ headers: HeaderFields) {}

    package func confirmCredentials() {}

    /// Waits for the disk.
    package func place(
        at targets: [PlacementTarget], length: Int64, ifWanted isWanted: @escaping @Sendable () -> Bool,
        completion: @escaping PlacementCompletion
    ) -> [PlacementOutcome]? {
        isWanted() ? place(at: targets, length: length) : []
    }

    /// Places the finished file on another thread, and calls `completion` with the outcomes.
    func placeBlocking(
        at targets: [PlacementTarget], length: Int64, ifWanted isWanted: @escaping @Sendable () -> Bool,
        completion: @escaping PlacementCompletion
    ) {
        DispatchQueue.runBlocking { [self] in
            completion(isWanted() ? place(at: targets, length: length) : [])
        }
    }

    package var allowsGaps: Bool { true }

    package var isInMemory: Bool { false }

    package var waitsForDisk: Bool { false }

    package func moveToDisk() {}

    package var volume: UInt64? { nil }
}
