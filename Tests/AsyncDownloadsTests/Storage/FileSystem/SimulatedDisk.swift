@testable import AsyncDownloads

/// The state of a simulated disk: its current content, and what survives a loss of power.
struct SimulatedDisk: Sendable {
    /// A file's bytes, with the changes since its last sync.
    struct Node: Sendable {
        var number: UInt64
        var bytes: [UInt8] = []
        var durable: [UInt8] = []
        var attributes: [String: [UInt8]] = [:]
        var durableAttributes: [String: [UInt8]] = [:]
        var pending: [Change] = []
    }

    enum Change: Sendable {
        case write(offset: Int, bytes: [UInt8])
        case truncate(length: Int)
        case attribute(name: String, value: [UInt8])
    }

    /// An atomic change of names in one directory, such as a rename.
    struct NameChange: Sendable {
        let directory: String
        var removed: String?
        var added: (path: String, node: Int)?
    }

    /// A crash, and what it does to changes that were not synced.
    enum Crash: Sendable, Hashable, CustomStringConvertible {
        /// The process ends and the machine keeps running: all changes survive.
        case process
        /// The machine stops: the oldest `names` changes of names survive, and the data of each file as `data` says.
        case power(names: Int, data: [Int: UnsyncedData])
        /// The machine stops, and the file system keeps no order of changes.
        ///
        /// The changes of names with these indices survive, and all data as `data` says.
        case disorder(names: Set<Int>, data: UnsyncedData)

        var description: String {
            switch self {
            case .process: "the process ends"
            case .power(let names, let data): "power is lost, \(names) changes of names kept, data \(data)"
            case .disorder(let names, let data): "power is lost, changes of names \(names.sorted()) kept, data \(data)"
            }
        }
    }

    /// What a loss of power does to the unsynced data of a file.
    enum UnsyncedData: Sendable, Hashable, CaseIterable {
        case lost
        /// The file keeps its size, and zeros replace the data.
        case zeroed
        case kept
        /// Every second write survives, the others are lost.
        case scattered
    }

    var nodes: [Int: Node] = [:]
    var names: [String: Int] = [:]
    var directories: Set<String> = ["/"]
    var durableNames: [String: Int] = [:]
    var pendingNames: [NameChange] = []
    var openFiles: [Int32: Int] = [:]
    var locks: [Int: Int32] = [:]
    private var nextNode = 1
    private var nextFile: Int32 = 3
}

extension SimulatedDisk {
    /// Adds an empty file with the lowest free number, so that numbers are reused as early as possible.
    mutating func addNode() -> Int {
        let used = Set(names.values).union(openFiles.values)
        nodes = nodes.filter { used.contains($0.key) || Set(durableNames.values).contains($0.key) }
        let numbers = Set(used.compactMap { nodes[$0]?.number })
        let node = nextNode
        nextNode += 1
        nodes[node] = Node(number: (1...).first { !numbers.contains($0) } ?? 0)
        return node
    }

    mutating func addOpenFile(_ node: Int) -> Int32 {
        defer { nextFile += 1 }
        openFiles[nextFile] = node
        return nextFile
    }

    mutating func apply(_ change: Change, to node: Int) {
        nodes[node]?.bytes.apply(change)
        nodes[node]?.attributes.apply(change)
        nodes[node]?.pending.append(change)
    }

    mutating func apply(_ change: NameChange) {
        names.apply(change)
        pendingNames.append(change)
    }

    mutating func synchronize(_ node: Int) {
        guard var file = nodes[node] else { return }
        for change in file.pending {
            file.durable.apply(change)
            file.durableAttributes.apply(change)
        }
        file.pending = []
        nodes[node] = file
    }

    /// Simulates a failed sync: the changes stay readable, but no later sync makes them durable.
    mutating func forgetPending(_ node: Int) { nodes[node]?.pending = [] }

    mutating func synchronizeDirectory(_ directory: String) {
        for change in pendingNames where change.directory == directory { durableNames.apply(change) }
        pendingNames.removeAll { $0.directory == directory }
    }

    /// The distinct crashes in this state: all outcomes for each file, with each number of names.
    var crashes: [Crash] {
        [.process]
            + (0...pendingNames.count).flatMap { count in fates(keeping: count).map { .power(names: count, data: $0) } }
    }

    /// The additional crashes of a file system that makes changes of names durable in any order.
    ///
    /// In each of them, one change alone is lost or survives.
    var disorders: [Crash] {
        let all = Set(pendingNames.indices)
        guard all.count > 1 else { return [] }
        return Set(all.map { all.subtracting([$0]) } + all.map { [$0] }).flatMap { names in
            UnsyncedData.allCases.map { .disorder(names: names, data: $0) }
        }
    }

    /// Returns the possible outcomes for the files that have a name after the oldest `count` changes of names.
    private func fates(keeping count: Int) -> [[Int: UnsyncedData]] {
        let reachable = Set(namesAfter(keeping: Set(0..<count)).values)
        let volatile = nodes.keys.filter { reachable.contains($0) && nodes[$0]?.pending.isEmpty == false }
        return volatile.reduce(into: [[:]]) { fates, node in
            fates = fates.flatMap { fate in UnsyncedData.allCases.map { fate.merging([node: $0]) { $1 } } }
        }
    }

    private func namesAfter(keeping kept: Set<Int>) -> [String: Int] {
        pendingNames.enumerated().reduce(into: durableNames) { names, change in
            if kept.contains(change.offset) { names.apply(change.element) }
        }
    }

    /// Returns the disk as the next process finds it.
    func after(_ crash: Crash) -> SimulatedDisk {
        var disk = self
        disk.openFiles = [:]
        disk.locks = [:]
        let fate: (Int) -> UnsyncedData
        switch crash {
        case .process:
            return disk
        case .power(let kept, let data):
            disk.names = namesAfter(keeping: Set(0..<kept))
            fate = { data[$0] ?? .lost }
        case .disorder(let kept, let data):
            disk.names = namesAfter(keeping: kept)
            fate = { _ in data }
        }
        disk.durableNames = disk.names
        disk.pendingNames = []
        for (key, node) in nodes {
            let content = node.content(after: fate(key))
            // The worst case is an attribute that survives although the data is lost.
            let attributes = fate(key) == .lost ? node.durableAttributes : node.attributes
            disk.nodes[key] = Node(
                number: node.number, bytes: content, durable: content, attributes: attributes,
                durableAttributes: attributes)
        }
        return disk
    }
}

extension SimulatedDisk.Node {
    fileprivate func content(after loss: SimulatedDisk.UnsyncedData) -> [UInt8] {
        switch loss {
        case .lost: return durable
        case .kept: return bytes
        case .zeroed:
            return pending.reduce(into: durable) { content, change in
                if case .write(let offset, let bytes) = change {
                    content.apply(.write(offset: offset, bytes: [UInt8](repeating: 0, count: bytes.count)))
                } else {
                    content.apply(change)
                }
            }
        case .scattered:
            return pending.enumerated().reduce(into: durable) { content, change in
                if change.offset.isMultiple(of: 2) { content.apply(change.element) }
            }
        }
    }
}

extension [UInt8] {
    fileprivate mutating func apply(_ change: SimulatedDisk.Change) {
        switch change {
        case .attribute: break
        case .truncate(let length):
            self = Array(prefix(length)) + [UInt8](repeating: 0, count: Swift.max(0, length - count))
        case .write(let offset, let bytes):
            let end = offset + bytes.count
            if count < end { self += [UInt8](repeating: 0, count: end - count) }
            replaceSubrange(offset..<end, with: bytes)
        }
    }
}

extension [String: [UInt8]] {
    fileprivate mutating func apply(_ change: SimulatedDisk.Change) {
        if case .attribute(let name, let value) = change { self[name] = value }
    }
}

extension [String: Int] {
    fileprivate mutating func apply(_ change: SimulatedDisk.NameChange) {
        if let removed = change.removed { self[removed] = nil }
        if let added = change.added { self[added.path] = added.node }
    }
}
