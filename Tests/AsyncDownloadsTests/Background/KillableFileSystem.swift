internal import Foundation

@testable import AsyncDownloads

/// The real file system as one process uses it, which performs no operations after the process was killed.
final class KillableFileSystem: FileSystem {
    private struct State {
        var isKilled = false
        var openFiles: Set<OpenFile> = []
        var syncCount = 0
        var fault: FileFailure.Kind?
        /// The end of the names of files that cannot be created.
        var uncreatable: String?
        var renameFault: RenameFault?
    }

    private struct RenameFault {
        var destination: String
        var kind: FileFailure.Kind
        var exception: String?
    }

    private let base = POSIXFileSystem()
    private let state = Mutex(State())

    /// Ends the process: its files are closed, which releases their locks.
    func kill() {
        state.withLock { state in
            state.isKilled = true
            for file in state.openFiles {
                // A process that another test is starting may have inherited the file for a moment, and with it the
                // lock.
                flock(file.number, LOCK_UN)
                base.close(file)
            }
            state.openFiles = []
        }
    }

    /// The number of syncs of files.
    var syncCount: Int { state.withLock { $0.syncCount } }

    /// Makes writes fail with this error; nil ends the failures.
    func failWrites(_ kind: FileFailure.Kind?) { state.withLock { $0.fault = kind } }

    /// Makes the creation of files fail whose name contains a text.
    func failCreation(ofNamesWith text: String?) { state.withLock { $0.uncreatable = text } }

    /// Makes a rename fail if the destination's name contains a text, unless the source's name ends with another text.
    func failRenames(toNamesWith text: String, _ kind: FileFailure.Kind, except exception: String? = nil) {
        state.withLock { $0.renameFault = RenameFault(destination: text, kind: kind, exception: exception) }
    }

    /// Ends the failures of renames.
    func permitRenames() { state.withLock { $0.renameFault = nil } }

    /// Runs an operation unless the process was killed; a kill waits for an operation in progress.
    private func run<Result: Sendable>(
        _ body: (inout State) throws(FileFailure) -> Result
    ) throws(FileFailure) -> Result {
        try state.withLock { state throws(FileFailure) in
            guard !state.isKilled else {
                throw FileFailure(.other, errno: 0, operation: "use", name: "file", reason: "the process has ended")
            }
            return try body(&state)
        }
    }

    func open(_ path: String, _ purpose: OpenPurpose) throws(FileFailure) -> OpenFile {
        try run { state throws(FileFailure) in
            if purpose == .new, let text = state.uncreatable, path.contains(text) {
                throw FileFailure(.noSpace, errno: 0, operation: "create", name: "file", reason: "scripted")
            }
            let file = try base.open(path, purpose)
            state.openFiles.insert(file)
            return file
        }
    }

    func close(_ file: OpenFile) {
        state.withLock { state in
            if state.openFiles.remove(file) != nil { base.close(file) }
        }
    }

    func lock(_ file: OpenFile) throws(FileFailure) -> Bool {
        try run { _ throws(FileFailure) in try base.lock(file) }
    }

    func unlock(_ file: OpenFile) {
        state.withLock { state in
            if state.openFiles.contains(file) { base.unlock(file) }
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, to file: OpenFile, at offset: Int64) throws(FileFailure) {
        try run { state throws(FileFailure) in
            if let fault = state.fault {
                throw FileFailure(fault, errno: 0, operation: "write", name: file.name, reason: "scripted")
            }
            try base.write(bytes, to: file, at: offset)
        }
    }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, from file: OpenFile, at offset: Int64
    ) throws(FileFailure) -> Int {
        try run { _ throws(FileFailure) in try base.read(into: buffer, from: file, at: offset) }
    }

    func truncate(_ file: OpenFile, to length: Int64) throws(FileFailure) {
        try run { _ throws(FileFailure) in try base.truncate(file, to: length) }
    }

    func preallocate(_ file: OpenFile, _ range: Range<Int64>) throws(FileFailure) {
        try run { _ throws(FileFailure) in try base.preallocate(file, range) }
    }

    func setPermissions(_ permissions: FilePermissions, of file: OpenFile) throws(FileFailure) {
        try run { _ throws(FileFailure) in try base.setPermissions(permissions, of: file) }
    }

    func setAttribute(_ name: String, to value: [UInt8], of file: OpenFile) throws(FileFailure) {
        try run { _ throws(FileFailure) in try base.setAttribute(name, to: value, of: file) }
    }

    func attribute(_ name: String, of file: OpenFile) throws(FileFailure) -> [UInt8]? {
        try run { _ throws(FileFailure) in try base.attribute(name, of: file) }
    }

    /// Counts the sync without performing it, because no test simulates a loss of power.
    func synchronize(_ file: OpenFile) throws(FileFailure) {
        try run { state throws(FileFailure) in state.syncCount += 1 }
    }

    func synchronizeDirectory(_ path: String) throws(FileFailure) {
        try run { _ throws(FileFailure) in }
    }

    func information(of file: OpenFile) throws(FileFailure) -> FileInformation {
        try run { _ throws(FileFailure) in try base.information(of: file) }
    }

    func information(at path: String) throws(FileFailure) -> FileInformation? {
        try run { _ throws(FileFailure) in try base.information(at: path) }
    }

    func rename(_ path: String, to destination: String) throws(FileFailure) {
        try run { state throws(FileFailure) in
            if let fault = state.renameFault, destination.contains(fault.destination),
                !(fault.exception.map(path.hasSuffix) ?? false)
            {
                throw FileFailure(fault.kind, errno: 0, operation: "rename", name: "file", reason: "scripted")
            }
            try base.rename(path, to: destination)
        }
    }

    func rename(_ path: String, toUnused destination: String) throws(FileFailure) {
        try run { _ throws(FileFailure) in try base.rename(path, toUnused: destination) }
    }

    func remove(_ path: String) throws(FileFailure) {
        try run { _ throws(FileFailure) in try base.remove(path) }
    }

    func duplicate(_ file: OpenFile, to path: String) throws(FileFailure) -> OpenFile {
        try run { state throws(FileFailure) in
            let copy = try base.duplicate(file, to: path)
            state.openFiles.insert(copy)
            return copy
        }
    }

    func names(in directory: String) throws(FileFailure) -> [String] {
        try run { _ throws(FileFailure) in try base.names(in: directory) }
    }

    func makeDirectory(_ path: String) throws(FileFailure) {
        try run { _ throws(FileFailure) in try base.makeDirectory(path) }
    }

    func availableSpace(in directory: String) throws(FileFailure) -> Int64? { nil }

    func volumeKind(of file: OpenFile) -> VolumeKind { .disk }

    var user: UInt32 { base.user }

    var ordinaryPermissions: UInt16 { base.ordinaryPermissions }
}
