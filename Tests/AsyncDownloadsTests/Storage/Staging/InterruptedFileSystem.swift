@testable import AsyncDownloads

/// The real file system as a process uses it that ends after a number of changes.
final class InterruptedFileSystem: ForwardingFileSystem {
    private let remaining: Mutex<Int>
    private let exchanges: Bool
    private let willExchange: @Sendable () -> Void

    /// Creates the file system.
    ///
    /// - Parameters:
    ///   - count: The number of changes before the end of the process.
    ///   - exchanges: Whether two directories can be exchanged.
    ///   - willExchange: A closure that is called before the old version loses its name.
    init(
        after count: Int = .max, exchanges: Bool = true, willExchange: @escaping @Sendable () -> Void = {}
    ) {
        remaining = Mutex(count)
        self.exchanges = exchanges
        self.willExchange = willExchange
    }

    /// Whether the process has ended.
    var hasEnded: Bool { remaining.withLock { $0 < 0 } }

    private func change() throws(FileFailure) {
        let isPossible = remaining.withLock { remaining in
            if remaining >= 0, remaining < .max { remaining -= 1 }
            return remaining >= 0
        }
        guard isPossible else {
            throw FileFailure(.other, errno: 0, operation: "use", name: "file", reason: "the process has ended")
        }
    }

    func open(_ path: String, _ purpose: OpenPurpose) throws(FileFailure) -> OpenFile {
        if purpose == .new { try change() }
        return try base.open(path, purpose)
    }

    func rename(_ path: String, to destination: String) throws(FileFailure) {
        try change()
        if destination.hasSuffix(".replaced") { willExchange() }
        try base.rename(path, to: destination)
    }

    func rename(_ path: String, toUnused destination: String) throws(FileFailure) {
        try change()
        // A volume that can't exchange names can't refuse to replace one, either.
        try exchanges ? base.rename(path, toUnused: destination) : base.reserveAndRename(path, to: destination)
    }

    func remove(_ path: String) throws(FileFailure) {
        try change()
        try base.remove(path)
    }

    func makeDirectory(_ path: String) throws(FileFailure) {
        try change()
        try base.makeDirectory(path)
    }

    func copyPermissions(of other: String, to path: String) throws(FileFailure) {
        try change()
        try base.copyPermissions(of: other, to: path)
    }

    func removeDirectory(_ path: String) throws(FileFailure) {
        try change()
        try base.removeDirectory(path)
    }

    func link(_ path: String, as other: String) throws(FileFailure) {
        try change()
        try base.link(path, as: other)
    }

    func exchange(_ path: String, with other: String) throws(FileFailure) {
        try change()
        guard exchanges else {
            throw FileFailure(.unsupported, errno: 0, operation: "exchange", name: "file", reason: "scripted")
        }
        willExchange()
        try base.exchange(path, with: other)
    }
}
