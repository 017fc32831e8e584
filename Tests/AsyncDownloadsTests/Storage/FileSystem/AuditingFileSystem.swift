@testable import AsyncDownloads

/// The real file system with a record of every use of a descriptor that is not open.
///
/// The system reuses the number of a closed descriptor for the next file, so a second close, or a write after a close,
/// affects another file.
struct AuditingFileSystem: ForwardingFileSystem {
    private struct State {
        var open: Set<Int32> = []
        var violations: [String] = []
        var createdPartialCount = 0
        var whenPartialIsCreated: (@Sendable () -> Void)?
        var whenPartialIsWritten: (@Sendable () -> Void)?
    }

    private final class Record: Sendable {
        let state = Mutex(State())
    }

    private let record = Record()
    /// Delays renames and syncs of files, as a slow disk does.
    let pace = Hold()

    /// Each use of a descriptor that was not open.
    var violations: [String] { record.state.withLock { $0.violations } }
    /// The number of open descriptors.
    var openCount: Int { record.state.withLock { $0.open.count } }
    /// The number of partial files that were created.
    var createdPartialCount: Int { record.state.withLock { $0.createdPartialCount } }

    /// Calls `body` on the thread that has just created a partial file.
    func whenPartialIsCreated(_ body: @escaping @Sendable () -> Void) {
        record.state.withLock { $0.whenPartialIsCreated = body }
    }

    /// Calls `body` once, on the thread that is about to write bytes to a partial file.
    func whenPartialIsWritten(_ body: @escaping @Sendable () -> Void) {
        record.state.withLock { $0.whenPartialIsWritten = body }
    }

    func open(_ path: String, _ purpose: OpenPurpose) throws(FileFailure) -> OpenFile {
        // Under the lock, so that a number that another thread has just closed is not recorded as open twice.
        let result: Result<OpenFile, FileFailure> = record.state.withLock { state in
            Result { () throws(FileFailure) in
                let file = try base.open(path, purpose)
                state.open.insert(file.number)
                return file
            }
        }
        let file = try result.get()
        if purpose == .new, path.hasSuffix(".partial") {
            let hook = record.state.withLock { state in
                state.createdPartialCount += 1
                return state.whenPartialIsCreated
            }
            hook?()
        }
        return file
    }

    func duplicate(_ file: OpenFile, to path: String) throws(FileFailure) -> OpenFile {
        let copy = try base.duplicate(file, to: path)
        record.state.withLock { _ = $0.open.insert(copy.number) }
        return copy
    }

    func close(_ file: OpenFile) {
        record.state.withLock { state in
            guard state.open.remove(file.number) != nil else {
                state.violations.append("\(file.name) was closed twice")
                return
            }
            base.close(file)
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, to file: OpenFile, at offset: Int64) throws(FileFailure) {
        if file.name.hasSuffix(".partial") {
            let hook = record.state.withLock { state in
                defer { state.whenPartialIsWritten = nil }
                return state.whenPartialIsWritten
            }
            hook?()
        }
        guard isOpen(file, "written to") else { return }
        try base.write(bytes, to: file, at: offset)
    }

    func truncate(_ file: OpenFile, to length: Int64) throws(FileFailure) {
        guard isOpen(file, "truncated") else { return }
        try base.truncate(file, to: length)
    }

    func synchronize(_ file: OpenFile) throws(FileFailure) {
        pace.pass()
        guard isOpen(file, "synced") else { return }
        try base.synchronize(file)
    }

    func rename(_ path: String, to destination: String) throws(FileFailure) {
        pace.pass()
        try base.rename(path, to: destination)
    }

    private func isOpen(_ file: OpenFile, _ use: String) -> Bool {
        record.state.withLock { state in
            if state.open.contains(file.number) { return true }
            state.violations.append("\(file.name) was \(use) while it was not open")
            return false
        }
    }
}
