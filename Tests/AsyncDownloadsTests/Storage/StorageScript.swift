internal import Testing

@testable import AsyncDownloads

/// What a process does with a partial, step by step, with the crashes and reopenings in between.
struct StorageScript: Sendable, CustomTestStringConvertible {
    enum Step: Sendable {
        case begin(SampleObject)
        case write(Range<Int64>)
        case mark
        case save
        /// Saves what is below an offset, as a save does that runs beside writes and marks.
        case saveBelow(Int64)
        case place([String])
        case close
        case discard
        /// Opens the site, after a crash or an orderly end.
        case open
        case crash(SimulatedDisk.Crash)
    }

    let testDescription: String
    var directory = "/location"
    let steps: [Step]
}

/// Runs a script on a simulated disk and notes what must have been kept at each moment.
struct StorageRun {
    /// What a crash at some moment may not take.
    struct Promise: Sendable, Hashable {
        /// Bytes that survive the process.
        var process: Int64 = 0
        /// Bytes that survive a loss of power.
        var power: Int64 = 0
        /// Whether the file is being placed, so that its bytes are either here or at the destination.
        var isPlacing = false
        /// Whether the file is at this destination for good.
        var placed: String?
        /// How often the machine was started.
        var boot = 0
    }

    let script: StorageScript
    let durability: Durability
    let disk: SimulatedFileSystem
    /// The promises, each with the place in the history since which it holds.
    private(set) var promises: [(start: Int, promise: Promise)] = [(0, Promise())]
    private var partial: (any Partial)?
    private var object = SampleObject.first
    private var received = IntervalSet()
    private var hasCheckpoint = false
    private var marked: Int64 = 0
    /// What a close has said is kept, until the next opening.
    private var kept: IntervalSet?

    init(_ script: StorageScript, durability: Durability, disk: SimulatedFileSystem) {
        self.script = script
        self.durability = durability
        self.disk = disk
    }

    var store: DiskStore { store(on: disk, boot: promises.last?.promise.boot ?? 0) }

    /// The store of a process in the machine's run number `boot`.
    func store(on disk: SimulatedFileSystem, boot: Int) -> DiskStore {
        DiskStore(disk: disk, durability: durability, bootID: "boot-\(boot)")
    }

    mutating func run() throws {
        for step in script.steps { try run(step) }
        partial = nil
    }

    /// Runs every step although some fail, as far as it makes sense; the answer is what failed.
    ///
    /// - Parameter observe: Called after each step from the first failure on.
    mutating func runOn(observe: (Self) throws -> Void) rethrows -> [any Error] {
        var errors: [any Error] = []
        for step in script.steps {
            do {
                switch step {
                case .open, .crash: try run(step)
                default: if partial != nil { try run(step) }
                }
            } catch {
                errors.append(error)
            }
            if !errors.isEmpty { try observe(self) }
        }
        partial = nil
        return errors
    }

    /// What may not be lost when the crash comes in the state at `index` of the history.
    func promise(at index: Int) -> Promise {
        promises.last { $0.start <= index }?.promise ?? Promise()
    }

    private mutating func run(_ step: StorageScript.Step) throws {
        switch step {
        case .open:
            marked = 0
            let kept = self.kept
            (partial, self.kept) = (nil, nil)
            let faultCount = disk.faultCount
            partial = try store.open(.sample(in: script.directory))
            // A mark counts only after a sync, which may be what fails.
            if let kept, disk.faultCount == faultCount {
                #expect(partial?.finding.received == kept, "closing said otherwise")
            }
            guard case .bytes(let representation, let found) = partial?.finding else { break }
            object = SampleObject(representation) ?? object
            (received, hasCheckpoint) = (found, true)
        case .begin(let object):
            self.object = object
            (received, hasCheckpoint, marked) = (IntervalSet(), false, 0)
            promise { ($0.process, $0.power) = (0, 0) }
            try partial?.begin(object.representation)
        case .write(let range):
            try partial?.write(object, range)
            received.insert(range)
        case .mark:
            partial?.mark(received)
            let count = received.count
            if hasCheckpoint {
                marked = count
                promise { $0.process = count }
            }
        case .save: try save(received)
        case .saveBelow(let limit):
            var earlier = received
            earlier.truncate(to: limit)
            try save(earlier)
        case .place(let destinations):
            guard received.isComplete(below: SampleObject.length) else { break }
            promise { $0.isPlacing = true }
            for result in partial?.place(at: destinations, length: SampleObject.length) ?? [] { try result.get() }
            partial = nil
            promise { ($0.isPlacing, $0.placed) = (false, destinations[0]) }
        case .close:
            kept = partial?.close()
        case .discard:
            promise { ($0.process, $0.power) = (0, 0) }
            partial?.discard()
        case .crash(let crash):
            // A process that dies closes nothing, so neither must the partial's end.
            if let partial { _ = Unmanaged.passRetained(partial as AnyObject) }
            (partial, kept) = (nil, nil)
            disk.crash(crash)
            if case .power = crash { promise { ($0.process, $0.boot) = ($0.power, $0.boot + 1) } }
        }
    }

    private mutating func save(_ received: IntervalSet) throws {
        promise { $0.process = min($0.process, received.count) }
        try partial?.save(received)
        hasCheckpoint = true
        let power = durability == .powerLoss ? received.count : 0
        let process = max(marked, received.count)
        promise { ($0.process, $0.power) = (process, power) }
    }

    private mutating func promise(_ change: (inout Promise) -> Void) {
        var promise = promises.last?.promise ?? Promise()
        change(&promise)
        promises.append((disk.history.count - 1, promise))
    }
}

extension PartialFinding {
    /// The bytes to go on from.
    var received: IntervalSet {
        if case .bytes(_, let received) = self { received } else { IntervalSet() }
    }
}
