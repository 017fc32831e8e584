@testable import AsyncDownloads

/// The real file system, in which reads of a partial file and renames to a destination can be blocked.
struct HoldingFileSystem: ForwardingFileSystem {
    /// Blocks reads of a partial file, such as those for a digest.
    let reading = Hold()
    /// Blocks renames of a file to a destination.
    let renaming = Hold()
    /// The kind of the volume, if it is not the real one.
    var volume: VolumeKind?

    func volumeKind(of file: OpenFile) -> VolumeKind { volume ?? base.volumeKind(of: file) }

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
}
