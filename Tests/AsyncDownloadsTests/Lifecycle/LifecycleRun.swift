import Foundation
import LoopbackServer

@testable import AsyncDownloads

/// Downloads, a server, and a clock that act as a seed determines, through the public API, and a model of the result.
///
/// After each command, the run waits until only the run can cause progress. It then compares the model with the states
/// and events of the downloads, the requests to the engine, and the files on disk.
final class LifecycleRun {
    static let resourceCount = 3
    static let permits = 2
    static let idleTimeout = Duration.seconds(30)

    let fixture: LifecycleFixture
    let policy: AbandonmentPolicy
    var generator: SplitMix64
    var transfers = [ReferenceTransfer](repeating: ReferenceTransfer(), count: LifecycleRun.resourceCount)
    var objects: [SteppedObject]
    var callers: [ReferenceCaller] = []
    /// Whether the server sends `Retry-After` in this run (rule 58).
    let sendsRetryAfter: Bool
    /// The resources for which the host accepts no request until time passes.
    var coolingDown: Set<Int> = []
    /// Whether requests may wait although a permit is available, since the host has refused requests, or has sent no
    /// response.
    var mayBePaced = false
    var untimedRefusalCount = 0
    /// A description of what happened, for failure messages.
    var history: [String] = []
    var violations: [String] = []
    private var objectCount: UInt64 = 0

    init(_ fixture: LifecycleFixture, _ policy: AbandonmentPolicy, seed: UInt64) {
        self.fixture = fixture
        self.policy = policy
        generator = SplitMix64(seed: seed)
        sendsRetryAfter = seed % 8 >= 4
        objects = []
        for _ in 0..<Self.resourceCount { objects.append(newObject()) }
    }

    static func configure(_ configuration: inout Downloader.Configuration, _ policy: AbandonmentPolicy) {
        configuration.abandonmentPolicy = policy
        configuration.maximumConcurrentTransfers = permits
        configuration.idleTimeout = TimeLimit(idleTimeout)
        configuration.retryPolicy = RetryPolicy(maximumRetries: 1000, maximumDelay: .seconds(5))
    }

    /// Performs a number of random commands, then lets every remaining download complete.
    func run(_ commands: Int) async throws {
        for _ in 0..<commands where violations.isEmpty {
            try await command()
            await waitUntilIdle()
        }
        var rounds = 0
        while violations.isEmpty, callers.contains(where: \.isAttached) || transfers.contains(where: \.isLive) {
            resumeAll()
            await waitUntilIdle()
            for resource in 0..<Self.resourceCount { await finishExchange(resource) }
            await advance(.seconds(6))
            rounds += 1
            check(rounds < 50, "a download waits forever")
        }
        if violations.isEmpty { await checkEnds() }
    }

    func newObject() -> SteppedObject {
        objectCount += 1
        let length = Int64.random(in: 1...9000, using: &generator)
        return SteppedObject(content: Content(seed: objectCount, length: length), tag: "\"\(objectCount)\"")
    }

    func check(_ condition: Bool, _ violation: @autoclosure () -> String) {
        if !condition { violations.append(violation()) }
    }

    func note(_ command: String) { history.append("\(fixture.time.now) \(command)") }

    func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &generator) == 0 }

    // MARK: Commands

    private func command() async throws {
        let roll = Int.random(in: 0..<100, using: &generator)
        switch roll {
        case 0..<12: try start()
        case 12..<50: await serve()
        case 50..<56: await advance(.seconds(chance(4) ? 31 : 6))
        case 56..<58: changeObject()
        case 58..<60: pauseAll()
        case 60..<62: resumeAll()
        default: try await callerActs(roll)
        }
    }

    private func callerActs(_ roll: Int) async throws {
        guard let caller = callers.filter({ $0.download != nil }).randomElement(using: &generator),
            let download = caller.download
        else { return }
        switch roll {
        case 62..<73:
            note("\(caller.number) pauses")
            download.pause()
            pause(caller)
        case 73..<88:
            note("\(caller.number) resumes")
            download.resume()
            resume(caller)
        case 88..<91:
            note("\(caller.number) cancels")
            download.cancel()
            await detach(caller, keepingBytes: true)
        case 91..<93 where caller.isAttached:
            note("\(caller.number) discards")
            download.discard()
            await detach(caller, keepingBytes: false)
        case 93..<96 where caller.consumerCount > 0 && caller.isAttached:
            let isListener = caller.awaiting == nil || caller.listening != nil && chance(2)
            note("\(caller.number) cancels the task that \(isListener ? "reads events" : "awaits the file")")
            if await caller.cancelTask(isListener) { await detach(caller, keepingBytes: true) }
        case 96..<98 where caller.consumerCount == 0:
            note("\(caller.number) lets go")
            caller.drop()
        case 98... where caller.isAttached:
            note("\(caller.number) replaces the URL")
            try download.replaceURL(with: fixture.url("/\(caller.resource)/\(history.count)"))
            transfers[caller.resource].stop(.advance)
            transfers[caller.resource].next = .advance
            transfers[caller.resource].isDelayed = false
        default:
            break
        }
    }

    private func start() throws {
        guard callers.filter(\.isAttached).count < 8 else { return }
        let resource = Int.random(in: 0..<Self.resourceCount, using: &generator)
        let destination = chance(3) ? nil : "\(resource)-\(Int.random(in: 0..<2, using: &generator)).bin"
        let (listens, awaits) = (!chance(3), chance(2))
        var request = try fixture.request("/\(resource)", to: destination ?? "")
        if destination == nil { request.destination = .memory }
        note("\(callers.count) starts \(resource) to \(destination ?? "memory")")
        let download = fixture.downloader.start(request)
        check(download.isCoalesced == transfers[resource].isLive, "isCoalesced differs from the model")
        if !transfers[resource].isLive { transfers[resource].begin(destination) }
        transfers[resource].continuesWithoutSubscribers = false
        callers.append(
            ReferenceCaller(
                callers.count, resource: resource, destination: destination, download, listens: listens,
                awaits: awaits))
    }

    private func pauseAll() {
        note("pause all")
        fixture.downloader.pauseAll()
        for caller in callers { pause(caller) }
    }

    func resumeAll() {
        note("resume all")
        fixture.downloader.resumeAll()
        for caller in callers { resume(caller) }
    }

    private func pause(_ caller: ReferenceCaller) {
        guard caller.wantsToRun else { return }
        caller.isPaused = true
        caller.hasReceivedPause = false
        stopIfUnwanted(caller.resource)
    }

    private func resume(_ caller: ReferenceCaller) { caller.isPaused = false }

    private func detach(_ caller: ReferenceCaller, keepingBytes: Bool) async {
        guard caller.isAttached else { return }
        let resource = caller.resource
        let wasWanted = isWanted(resource)
        caller.outcome = .canceled
        transfers[resource].lastDestination = caller.destination
        guard !active(to: resource).isEmpty else {
            let keeps = keepingBytes && policy != .discard
            transfers[resource].continuesWithoutSubscribers = keeps && policy == .finish && wasWanted
            if transfers[resource].continuesWithoutSubscribers { return }
            transfers[resource].stop(.advance)
            transfers[resource].isDelayed = false
            if !keeps {
                // Bytes that are being discarded must not be mistaken for bytes of a transfer that starts in
                // the meantime.
                await endStopped(resource)
                transfers[resource].end(keepingBytes: false)
            }
            return
        }
        stopIfUnwanted(resource)
    }

    private func stopIfUnwanted(_ resource: Int) {
        guard !isWanted(resource) else { return }
        transfers[resource].stop(.advance)
        transfers[resource].isDelayed = false
    }

    func active(to resource: Int) -> [ReferenceCaller] {
        callers.filter { $0.resource == resource && $0.isAttached }
    }

    /// Whether the transfer should run.
    func isWanted(_ resource: Int) -> Bool {
        transfers[resource].continuesWithoutSubscribers || active(to: resource).contains(where: \.wantsToRun)
    }
}
