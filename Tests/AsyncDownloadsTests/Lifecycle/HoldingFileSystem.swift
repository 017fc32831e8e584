@testable import AsyncDownloads

/// The real file system, which counts the files that are opened, and in which some calls can be blocked.
struct HoldingFileSystem: ForwardingFileSystem {
    private struct Counts {
        var open = 0
        var opened = 0
    }

    private final class Record: Sendable {
        let counts = Mutex(Counts())
    }

    private let record = Record()
    /// Blocks reads of a partial file, such as those for a digest.
    let reading = Hold()
    /// Blocks renames of a file to a destination.
    let renaming = Hold()
    /// Blocks calls that return information about an open file.
    let examining = Hold()
    /// Blocks removals of a partial file.
    let removing = Hold()
    /// The kind of the volume, if it is not the real one.
    var volume: VolumeKind?

    /// The number of files that are open.
    var openCount: Int { record.counts.withLock { $0.open } }
    /// The number of files that have been opened, including those that are closed again.
    var openedCount: Int { record.counts.withLock { $0.opened } }

    /// Opens every barrier.
    func openAll() {
        for hold in [reading, renaming, examining, removing] { hold.open() }
    }

    func volumeKind(of file: OpenFile) -> VolumeKind { volume ?? base.volumeKind(of: file) }

    func open(_ path: String, _ purpose: OpenPurpose) throws(FileFailure) -> OpenFile {
        let file = try base.open(path, purpose)
        countOpened()
        return file
    }

    func duplicate(_ file: OpenFile, to path: String) throws(FileFailure) -> OpenFile {
        let copy = try base.duplicate(file, to: path)
        countOpened()
        return copy
    }

    func close(_ file: OpenFile) {
        base.close(file)
        record.counts.withLock { $0.open -= 1 }
    }

    private func countOpened() {
        record.counts.withLock { counts in
            counts.open += 1
            counts.opened += 1
        }
    }

    func information(of file: OpenFile) throws(FileFailure) -> FileInformation {
        examining.pass()
        return try base.information(of: file)
    }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, from file: OpenFile, at offset: Int64
    ) throws(FileFailure) -> Int {
        if file.name.hasSuffix(".partial") { reading.pass() }
        return try base.read(into: buffer, from: file, at: offset)
    }

    func rename(_ path: String, to destination: String) throws(FileFailure) {
        if !PartialNames.lastComponent(of: destination).hasPrefix(".") { renaming.pass() }
        try base.rename(path, to: destination)
    }

    func remove(_ path: String) throws(FileFailure) {
        if path.hasSuffix(".partial") { removing.pass() }
        try base.remove(path)
    }
}
