@testable import AsyncDownloads

/// A file system in memory that records its state after every change, for replaying crashes.
///
/// As in POSIX, names and data are volatile until each of them is synced. A write consists of two changes, so that each
/// write is also observed half done. The directory `/other/` is on another device.
final class SimulatedFileSystem: FileSystem {
    private struct State: Sendable {
        var disk: SimulatedDisk
        var history: [SimulatedDisk] = []
        var changes = 0
        var faults = 0
        var lockAttempts = 0
        var behavior: Behavior
    }

    private let state: Mutex<State>

    init(_ disk: SimulatedDisk = SimulatedDisk(), behavior: Behavior = Behavior()) {
        state = Mutex(State(disk: disk, history: behavior.remembers ? [disk] : [], behavior: behavior))
    }

    /// The current state of the disk.
    var disk: SimulatedDisk { state.withLock { $0.disk } }

    /// The states of the disk before the first change and after each change.
    var history: [SimulatedDisk] { state.withLock { $0.history } }

    /// The number of failed changes.
    var faultCount: Int { state.withLock { $0.faults } }

    /// The number of changes since the behavior was set.
    var changeCount: Int { state.withLock { $0.changes } }

    /// Replaces the disk by what survives a crash.
    func crash(_ crash: SimulatedDisk.Crash) {
        state.withLock { state in
            state.disk = state.disk.after(crash)
            state.history.append(state.disk)
        }
    }

    /// Sets the behavior from now on, and restarts the count of changes.
    func behave(_ behavior: Behavior) {
        state.withLock { state in
            state.behavior = behavior
            state.changes = 0
        }
    }

    func open(_ path: String, _ purpose: OpenPurpose) throws(FileFailure) -> OpenFile {
        let name = PartialNames.lastComponent(of: path)
        let number: Int32
        switch purpose {
        case .existing, .reading:
            number = try look { disk throws(FileFailure) in
                if disk.directories.contains(path) { throw Self.failure(.unusablePath, "open", path) }
                guard let node = disk.names[path] else { throw Self.failure(.missing, "open", path) }
                return disk.addOpenFile(node)
            }
        case .new:
            number = try change("create", path) { disk throws(FileFailure) in
                try Self.checkDirectory(of: path, on: disk)
                guard disk.names[path] == nil, !disk.directories.contains(path) else {
                    throw Self.failure(.exists, "create", path)
                }
                let node = disk.addNode()
                disk.apply(
                    .init(directory: PartialNames.directory(of: path), removed: nil, added: (path, node)))
                return disk.addOpenFile(node)
            }
        }
        return OpenFile(number: number, name: name)
    }

    func close(_ file: OpenFile) {
        unlock(file)
        state.withLock { _ = $0.disk.openFiles.removeValue(forKey: file.number) }
    }

    func lock(_ file: OpenFile) throws(FileFailure) -> Bool {
        try state.withLock { state throws(FileFailure) in
            state.lockAttempts += 1
            let isSupported = state.behavior.locks != .firstOnly || state.lockAttempts == 1
            guard isSupported, state.behavior.locks != .missing else {
                throw Self.failure(.unsupported, "lock", file.name)
            }
            guard state.behavior.locks == .working, let node = state.disk.openFiles[file.number] else { return true }
            if let owner = state.disk.locks[node] { return owner == file.number }
            state.disk.locks[node] = file.number
            return true
        }
    }

    func unlock(_ file: OpenFile) {
        state.withLock { state in
            guard let node = state.disk.openFiles[file.number] else { return }
            if state.disk.locks[node] == file.number { state.disk.locks[node] = nil }
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, to file: OpenFile, at offset: Int64) throws(FileFailure) {
        let half = bytes.count / 2
        for part in [0..<half, half..<bytes.count] {
            let data = Array(bytes[part])
            _ = try change("write", file.name) { disk throws(FileFailure) in
                disk.apply(.write(offset: Int(offset) + part.lowerBound, bytes: data), to: try Self.node(file, disk))
            }
        }
    }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, from file: OpenFile, at offset: Int64
    ) throws(FileFailure) -> Int {
        let disk = disk
        let bytes = disk.nodes[try Self.node(file, disk)]?.bytes.dropFirst(Int(offset)).prefix(buffer.count) ?? []
        buffer.copyBytes(from: bytes)
        return bytes.count
    }

    func truncate(_ file: OpenFile, to length: Int64) throws(FileFailure) {
        _ = try change("truncate", file.name) { disk throws(FileFailure) in
            disk.apply(.truncate(length: Int(length)), to: try Self.node(file, disk))
        }
    }

    func preallocate(_ file: OpenFile, _ range: Range<Int64>) throws(FileFailure) {}

    func setPermissions(_ permissions: FilePermissions, of file: OpenFile) throws(FileFailure) {}

    func setAttribute(_ name: String, to value: [UInt8], of file: OpenFile) throws(FileFailure) {
        _ = try change("describe", file.name) { disk throws(FileFailure) in
            disk.apply(.attribute(name: name, value: value), to: try Self.node(file, disk))
        }
    }

    func attribute(_ name: String, of file: OpenFile) throws(FileFailure) -> [UInt8]? {
        let disk = disk
        return disk.nodes[try Self.node(file, disk)]?.attributes[name]
    }

    func synchronize(_ file: OpenFile) throws(FileFailure) {
        do {
            _ = try change("sync", file.name) { disk throws(FileFailure) in
                disk.synchronize(try Self.node(file, disk))
            }
        } catch {
            state.withLock { state in
                if let node = state.disk.openFiles[file.number] { state.disk.forgetPending(node) }
            }
            throw error
        }
    }

    func synchronizeDirectory(_ path: String) throws(FileFailure) {
        _ = try change("sync", path) { disk in disk.synchronizeDirectory(path) }
    }

    func information(of file: OpenFile) throws(FileFailure) -> FileInformation {
        let disk = disk
        return Self.information(try Self.node(file, disk), disk)
    }

    func information(at path: String) throws(FileFailure) -> FileInformation? {
        let disk = disk
        if disk.directories.contains(path) {
            return FileInformation(kind: .directory, device: 1, inode: 0, size: 0, linkCount: 2, owner: user)
        }
        return disk.names[path].map { Self.information($0, disk) }
    }

    func rename(_ path: String, to destination: String) throws(FileFailure) {
        _ = try change("rename to", destination) { disk throws(FileFailure) in
            guard let node = disk.names[path] else { throw Self.failure(.missing, "rename", path) }
            try Self.checkDirectory(of: destination, on: disk)
            guard Self.isOther(path) == Self.isOther(destination) else {
                throw Self.failure(.crossDevice, "rename", path)
            }
            let (from, to) = (PartialNames.directory(of: path), PartialNames.directory(of: destination))
            if from == to {
                disk.apply(.init(directory: to, removed: path, added: (destination, node)))
            } else {
                // The changes of two directories may become durable separately.
                disk.apply(.init(directory: to, removed: nil, added: (destination, node)))
                disk.apply(.init(directory: from, removed: path, added: nil))
            }
        }
    }

    func rename(_ path: String, toUnused destination: String) throws(FileFailure) {
        guard disk.names[destination] == nil, !disk.directories.contains(destination) else {
            throw Self.failure(.exists, "rename to", destination)
        }
        try rename(path, to: destination)
    }

    func remove(_ path: String) throws(FileFailure) {
        guard disk.names[path] != nil else { return }
        _ = try change("remove", path) { disk in
            disk.apply(.init(directory: PartialNames.directory(of: path), removed: path, added: nil))
        }
    }

    func duplicate(_ file: OpenFile, to path: String) throws(FileFailure) -> OpenFile {
        let copy = try open(path, .new)
        do throws(FileFailure) {
            let disk = disk
            try write(disk.nodes[try Self.node(file, disk)]?.bytes ?? [], to: copy, at: 0)
            return copy
        } catch {
            close(copy)
            try? remove(path)
            throw error
        }
    }

    func names(in directory: String) throws(FileFailure) -> [String] {
        let disk = disk
        guard disk.directories.contains(directory) else { throw Self.failure(.missing, "list", directory) }
        return disk.names.keys.filter { PartialNames.directory(of: $0) == directory }
            .map(PartialNames.lastComponent).sorted()
    }

    func makeDirectory(_ path: String) throws(FileFailure) {
        _ = try change("make", path) { disk throws(FileFailure) in
            guard disk.directories.contains(PartialNames.directory(of: path)) else {
                throw Self.failure(.missing, "make", path)
            }
            // Directories are durable at once, because the simulation is about the files in them.
            guard disk.directories.insert(path).inserted else { throw Self.failure(.exists, "make", path) }
        }
    }

    func availableSpace(in directory: String) throws(FileFailure) -> Int64? { nil }

    func volumeKind(of file: OpenFile) -> VolumeKind { state.withLock { $0.behavior.volume } }

    // The real user, so that the names are the same as on the real file system.
    var user: UInt32 { PartialNames.ownUser }

    var ordinaryPermissions: UInt16 { 0o644 }
}

extension SimulatedFileSystem {
    /// Runs an operation that changes nothing that survives a crash.
    private func look<Result: Sendable>(
        _ body: (inout SimulatedDisk) throws(FileFailure) -> Result
    ) throws(FileFailure) -> Result {
        try state.withLock { state throws(FileFailure) in try body(&state.disk) }
    }

    /// Runs a change, or the fault or interruption that is due.
    private func change<Result: Sendable>(
        _ operation: String, _ path: String, _ body: (inout SimulatedDisk) throws(FileFailure) -> Result
    ) throws(FileFailure) -> Result {
        let number = state.withLock { state in
            defer { state.changes += 1 }
            return state.changes
        }
        if let interruption = state.withLock({ $0.behavior.interruption }), interruption.change == number {
            interruption.body()
        }
        return try state.withLock { state throws(FileFailure) in
            if let fault = state.behavior.fault, fault.change == number {
                state.faults += 1
                throw Self.failure(fault.kind, operation, path)
            }
            let result = try body(&state.disk)
            if state.behavior.remembers { state.history.append(state.disk) }
            return result
        }
    }

    private static func node(_ file: OpenFile, _ disk: SimulatedDisk) throws(FileFailure) -> Int {
        guard let node = disk.openFiles[file.number] else { throw failure(.other, "use", file.name) }
        return node
    }

    private static func information(_ node: Int, _ disk: SimulatedDisk) -> FileInformation {
        FileInformation(
            kind: .regular, device: 1, inode: disk.nodes[node]?.number ?? 0,
            size: Int64(disk.nodes[node]?.bytes.count ?? 0), linkCount: disk.names.values.count { $0 == node },
            owner: PartialNames.ownUser)
    }

    private static func checkDirectory(of path: String, on disk: SimulatedDisk) throws(FileFailure) {
        guard disk.directories.contains(PartialNames.directory(of: path)) else {
            throw failure(.missing, "open", path)
        }
        guard !disk.directories.contains(path) else { throw failure(.unusablePath, "open", path) }
    }

    private static func isOther(_ path: String) -> Bool { path.hasPrefix("/other/") }

    private static func failure(_ kind: FileFailure.Kind, _ operation: String, _ path: String) -> FileFailure {
        FileFailure(
            kind, errno: 0, operation: operation, name: PartialNames.lastComponent(of: path), reason: "simulated")
    }
}
