internal import Testing

@testable import AsyncDownloads

/// The steps of a process that uses a partial, including crashes and reopenings.
struct StorageScript: Sendable, CustomTestStringConvertible {
    enum Step: Sendable {
        case begin(SampleObject)
        case write(Range<Int64>)
        case mark
        case save
        /// Saves the bytes below an offset, as a save concurrent with writes and marks does.
        case saveBelow(Int64)
        case place([String])
        case close
        case discard
        /// Opens the partial, after a crash or a close.
        case open
        case crash(SimulatedDisk.Crash)
    }

    let testDescription: String
    var directory = "/location"
    /// Whether the script also runs with a buffered partial, which differs only until its first save.
    var isAlsoBuffered = false
    let steps: [Step]
}

/// The options of the store that a script uses.
struct StoreOptions: Sendable, Hashable, CustomTestStringConvertible {
    let durability: Durability
    /// Whether new partials keep their bytes in memory.
    let isBuffered: Bool

    static let all = [Durability.powerLoss, .processCrash].flatMap { durability in
        [false, true].map { StoreOptions(durability: durability, isBuffered: $0) }
    }

    var testDescription: String { isBuffered ? "\(durability), buffered" : "\(durability)" }
}

/// A run of a script on a simulated disk, with a record of the bytes that have to be kept at each moment.
struct StorageRun {
    /// What a crash at a moment must not lose.
    struct Promise: Sendable, Hashable {
        /// The number of bytes that survive the end of the process.
        var process: Int64 = 0
        /// The number of bytes that survive a loss of power.
        var power: Int64 = 0
        /// Whether the file is being placed, so that its bytes are either in the partial or at the destination.
        var isPlacing = false
        /// The destination that has the file, if it was placed.
        var placed: String?
        /// The number of restarts of the machine.
        var boot = 0
    }

    let script: StorageScript
    let options: StoreOptions
    let disk: SimulatedFileSystem
    /// The promises, each with the index in the history from which it applies.
    private(set) var promises: [(start: Int, promise: Promise)] = [(0, Promise())]
    private var partial: PartialFile?
    private var object = SampleObject.first
    private var received = IntervalSet()
    private var hasCheckpoint = false
    private var marked: Int64 = 0
    /// The result of the last close, until the next opening.
    private var kept: IntervalSet?

    init(_ script: StorageScript, _ options: StoreOptions, disk: SimulatedFileSystem) {
        self.script = script
        self.options = options
        self.disk = disk
    }

    var store: PartialStore { store(on: disk, boot: promises.last?.promise.boot ?? 0) }

    /// Returns the store of a process on the boot with number `boot`.
    func store(on disk: SimulatedFileSystem, boot: Int) -> PartialStore {
        PartialStore(
            disk: disk, durability: options.durability, bootID: "boot-\(boot)",
            bufferedLength: options.isBuffered ? 2 * SampleObject.length : 0)
    }

    mutating func run() throws {
        for step in script.steps { try run(step) }
        partial = nil
    }

    /// Runs all steps that are possible after earlier ones failed, and returns the errors.
    ///
    /// - Parameter observe: A closure that is called after the first failed step and after each later step.
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

    /// Returns what a crash in the state at `index` of the history must not lose.
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
            // A mark is valid only after a sync, which may be the failing change.
            if let kept, disk.faultCount == faultCount {
                #expect(partial?.finding.received == kept, "closing returned something else")
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
            // A crashed process closes nothing, so the partial must not be released either.
            partial?.leak()
            (partial, kept) = (nil, nil)
            disk.crash(crash)
            if case .power = crash { promise { ($0.process, $0.boot) = ($0.power, $0.boot + 1) } }
        }
    }

    private mutating func save(_ received: IntervalSet) throws {
        promise { $0.process = min($0.process, received.count) }
        try partial?.save(received)
        hasCheckpoint = true
        let power = options.durability == .powerLoss ? received.count : 0
        let process = max(marked, received.count)
        promise { ($0.process, $0.power) = (process, power) }
    }

    private mutating func promise(_ change: (inout Promise) -> Void) {
        var promise = promises.last?.promise ?? Promise()
        change(&promise)
        promises.append((disk.history.count - 1, promise))
    }
}
