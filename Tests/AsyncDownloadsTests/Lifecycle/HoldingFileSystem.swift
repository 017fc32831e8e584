@testable import AsyncDownloads

/// The real file system, in which reading a partial file and renaming to a destination can be held up.
struct HoldingFileSystem: ForwardingFileSystem {
    /// Holds up whoever reads the bytes of a partial file, as a digest does.
    let reading = Hold()
    /// Holds up whoever gives a file the name of a destination.
    let renaming = Hold()

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
