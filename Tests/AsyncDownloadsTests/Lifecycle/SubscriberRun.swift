import Foundation
import LoopbackServer

@testable import AsyncDownloads

/// Random subscribers with different limits, deadlines, and pauses.
///
/// The engine ends exchanges inside its callbacks, and the store is slow at times.
///
/// ``LifecycleRun`` compares the exact result of its commands with a model. This run checks only that the result is
/// permitted: each handle ends once, as its own request permits, with the bytes of one object, and no closed descriptor
/// is used.
final class SubscriberRun {
    private final class Caller {
        let download: Download
        let resource: Int
        let request: DownloadRequest
        let log: Task<EventLog, Never>
        var hasLeft = false

        init(_ download: Download, _ resource: Int) {
            self.download = download
            self.resource = resource
            request = download.request
            let events = download.events
            log = Task { await EventLog(events) }
        }
    }

    private static let resourceCount = 2

    private let transport = SteppedTransport()
    private let time = ManualTimeSource()
    private let disk = AuditingFileSystem()
    private let directory: TemporaryDirectory
    private let downloader: Downloader
    private var generator: SplitMix64
    private var callers: [Caller] = []
    /// All objects that each resource has had.
    private var objects: [[SteppedObject]] = []
    private var objectCount: UInt64 = 0
    private(set) var violations: [String] = []

    init(seed: UInt64) throws {
        generator = SplitMix64(seed: seed)
        directory = try TemporaryDirectory()
        var configuration = Downloader.Configuration()
        configuration.memoryPressure = .none
        configuration.progressInterval = .zero
        configuration.idleTimeout = .seconds(20)
        configuration.maximumConcurrentTransfers = Int.random(in: 1...2, using: &generator)
        configuration.abandonmentPolicy = [.pause, .finish, .discard].randomElement(using: &generator) ?? .pause
        configuration.partialBodies = PartialBodyStore(byteLimit: 32 << 20)
        configuration.partialsDirectory = URL(fileURLWithPath: directory.path)
        configuration.retryPolicy = RetryPolicy(maximumRetries: 1000, maximumDelay: .seconds(5))
        configuration.durability = Bool.random(using: &generator) ? .processCrash : .powerLoss
        let store = PartialStore(disk: disk, durability: configuration.durability, bootID: POSIXFileSystem.bootID())
        downloader = Downloader(configuration: configuration, transport: transport, store: store, time: time)
        // From now on, a cancellation ends an exchange at once, even inside a callback.
        if Bool.random(using: &generator) { transport.close() }
        for _ in 0..<Self.resourceCount { objects.append([newObject()]) }
    }

    func run(_ commands: Int) async throws {
        for _ in 0..<commands {
            try command()
            for _ in 0..<Int.random(in: 0..<4, using: &generator) { await Task.yield() }
        }
        disk.pace.open()
        transport.close()
        // In an idle round, only the store may have work; after many of them, some subscriber must have made progress.
        var idleRounds = 0
        while callers.contains(where: { !$0.download.state.isFinal }), idleRounds < 1000 {
            downloader.resumeAll()
            serve(isHonest: true)
            time.advance(by: .seconds(1))
            await Task.yield()
            idleRounds = downloader.liveTransfers.allSatisfy(\.isIdle) ? idleRounds + 1 : 0
        }
        for caller in callers where !caller.download.state.isFinal {
            violations.append("\(caller.request.url.path) makes no progress in the state \(caller.download.state)")
        }
        guard violations.isEmpty else { return }
        await downloader.shutdown()
        for caller in callers { await check(caller) }
        violations += disk.violations
        if disk.openCount > 0 { violations.append("\(disk.openCount) descriptors are still open") }
    }

    private func newObject() -> SteppedObject {
        objectCount += 1
        let length = Int64.random(in: 1...9000, using: &generator)
        return SteppedObject(content: Content(seed: objectCount, length: length), tag: "\"\(objectCount)\"")
    }

    private func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &generator) == 0 }

    private func command() throws {
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<14: try start()
        case 14..<62: serve(isHonest: false)
        case 62..<70: time.advance(by: .seconds(Int.random(in: 1...9, using: &generator)))
        case 70..<73: chance(2) ? disk.pace.shut() : disk.pace.open()
        case 73..<75: downloader.pauseAll()
        case 75..<77: downloader.resumeAll()
        case 77..<79:
            let resource = Int.random(in: 0..<Self.resourceCount, using: &generator)
            objects[resource].append(newObject())
        case 79..<81:
            // The command is given during a callback that writes.
            guard let caller = callers.randomElement(using: &generator) else { return }
            let (download, isPause) = (caller.download, chance(2))
            if !isPause { caller.hasLeft = true }
            disk.whenPartialIsWritten { isPause ? download.pause() : download.cancel() }
        default: act()
        }
    }

    private func act() {
        guard let caller = callers.randomElement(using: &generator) else { return }
        switch Int.random(in: 0..<10, using: &generator) {
        case 0..<4: caller.download.pause()
        case 4..<8: caller.download.resume()
        case 8:
            caller.hasLeft = true
            caller.download.cancel()
        default:
            caller.hasLeft = true
            caller.download.discard()
        }
    }

    private func start() throws {
        guard callers.count < 40, let url = URL(string: "https://origin.example/") else { return }
        let resource = Int.random(in: 0..<Self.resourceCount, using: &generator)
        var request = DownloadRequest(from: url.appending(path: "\(resource)"), to: .memory)
        if !chance(3) {
            let name = "\(resource)-\(Int.random(in: 0..<3, using: &generator)).bin"
            request.destination = .file(URL(fileURLWithPath: "\(directory.path)/\(name)"))
        }
        if chance(3) { request.maximumByteCount = Int64.random(in: 1...9000, using: &generator) }
        if chance(3) { request.deadline = .seconds(Int.random(in: 1...40, using: &generator)) }
        if chance(3) { request.idleTimeout = .seconds(Int.random(in: 5...60, using: &generator)) }
        request.priority = [.low, .normal, .high].randomElement(using: &generator) ?? .normal
        let download = downloader.start(request)
        if chance(6) { download.pause() }
        callers.append(Caller(download, resource))
    }

    private func serve(isHonest: Bool) {
        guard let exchange = transport.open.randomElement(using: &generator) else { return }
        guard !exchange.isCancelled else { return exchange.end(.cancelled) }
        guard let resource = Int(exchange.path.dropFirst().prefix(1)), let object = objects[resource].last else {
            return
        }
        if exchange.object == nil {
            if !isHonest, chance(6) { return exchange.refuse(503, chance(2) ? ["Retry-After": "3"] : [:]) }
            exchange.answer(object)
        } else if !isHonest, chance(8) {
            exchange.end(.failed(DownloadError(.connectionLost)))
        } else if !isHonest {
            exchange.deliver(Int64.random(in: 1...4000, using: &generator))
        } else {
            exchange.deliver(exchange.remainingByteCount)
        }
        if exchange.object != nil, exchange.remainingByteCount == 0 { exchange.end(.complete) }
    }

    private func check(_ caller: Caller) async {
        let log = await caller.log.value
        let name = "\(caller.request.url.path) \(caller.request.destination)"
        violations += log.faults.map { "\(name): \($0)" }
        if let file = log.file { return check(file, of: caller, name) }
        let longest = objects[caller.resource].map(\.content.length).max() ?? 0
        let limit = caller.download.request.maximumByteCount ?? .max
        switch log.error?.code {
        case .cancelled where caller.hasLeft: break
        case .deadlineExceeded where caller.request.deadline != nil: break
        case .bodyTooLarge where limit < longest: break
        default: violations.append("\(name) ended with \(log.error.map { "\($0)" } ?? "nothing")")
        }
    }

    private func check(_ file: DownloadedFile, of caller: Caller, _ name: String) {
        guard let object = objects[caller.resource].first(where: { $0.tag == file.entityTag }) else {
            return violations.append("\(name): the file is of an unknown object")
        }
        if file.byteCount > caller.download.request.maximumByteCount ?? .max {
            violations.append("\(name): the file exceeds the limit")
        }
        // A later download may have replaced the file by a newer object.
        let bytes = file.data.map { [UInt8]($0) } ?? directory.bytes(at: file.url.path) ?? []
        let candidates = file.data == nil ? objects[caller.resource] : [object]
        let isWhole = candidates.contains { candidate in
            Int64(bytes.count) == candidate.content.length
                && bytes.withUnsafeBytes { candidate.content.matches($0, at: 0) }
        }
        if !isWhole { violations.append("\(name): \(bytes.count) bytes that are not those of an object") }
    }
}
