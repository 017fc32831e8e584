import Foundation
import LoopbackServer

@testable import AsyncDownloads

/// Downloads of one resource over several connections, a server, and a clock that act as a seed determines.
///
/// After each command, the run waits until only the run can cause progress. It then checks the invariants: which
/// exchanges may run, what the downloads report, and what another process would find on disk.
final class SeveralExchangesRun {
    static let connectionCount = 4
    private static let mebibyte: Int64 = 1 << 20

    let fixture: LifecycleFixture
    /// A description of what happened, for failure messages.
    private(set) var history: [String] = []
    private(set) var violations: [String] = []
    private var generator: SplitMix64
    private var callers: [ReferenceCaller] = []
    /// The objects that the server has had, the current one last.
    private var objects: [SteppedObject] = []
    /// The time until which the host accepts no request.
    private var coolDownEnd = Duration.zero
    private var extraCoolDownEnd = Duration.zero
    private var exchangeCount = 0
    /// The largest number of exchanges that ran at the same time.
    private(set) var largestCount = 0

    init(_ fixture: LifecycleFixture, seed: UInt64) {
        self.fixture = fixture
        generator = SplitMix64(seed: seed)
        changeObject()
    }

    /// Performs a number of random commands, then lets every remaining download complete.
    func run(_ commands: Int) async throws {
        for _ in 0..<commands where violations.isEmpty {
            try await command()
            try await checkAll()
        }
        var rounds = 0
        while violations.isEmpty, callers.contains(where: \.isAttached) {
            for caller in callers { resume(caller) }
            await fixture.waitUntilIdle()
            for exchange in fixture.transport.open { await complete(exchange) }
            fixture.time.advance(by: .seconds(6))
            try await checkAll()
            rounds += 1
            check(rounds < 60, "a download waits forever")
        }
        if violations.isEmpty { await checkEnds() }
    }

    private func check(_ condition: Bool, _ violation: @autoclosure () -> String) {
        if !condition { violations.append(violation()) }
    }

    private func note(_ command: String) { history.append("\(fixture.time.now) \(command)") }

    private func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &generator) == 0 }

    // MARK: Commands

    private func command() async throws {
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<8: try start()
        case 8..<70: await serve()
        case 70..<78: advance(.seconds(chance(2) ? 6 : 1))
        case 78: changeObject()
        case let roll: try await act(roll)
        }
    }

    private func start() throws {
        guard callers.filter(\.isAttached).count < 4 else { return }
        let destination = chance(4) ? nil : "\(Int.random(in: 0..<2, using: &generator)).bin"
        var request = try fixture.request(to: destination ?? "")
        if destination == nil { request.destination = .memory }
        request.connectionCount = Self.connectionCount
        request.retryPolicy = RetryPolicy(maximumRetries: 1000, maximumDelay: .seconds(5))
        note("\(callers.count) starts to \(destination ?? "memory")")
        callers.append(
            ReferenceCaller(
                callers.count, resource: 0, destination: destination, fixture.downloader.start(request),
                listens: !chance(3), awaits: chance(2)))
    }

    private func act(_ roll: Int) async throws {
        guard let caller = callers.filter(\.isAttached).randomElement(using: &generator),
            let download = caller.download
        else { return }
        switch roll {
        case 79..<84:
            note("\(caller.number) pauses")
            download.pause()
            caller.isPaused = true
        case 84..<92: resume(caller)
        case 92..<95:
            note("\(caller.number) cancels")
            download.cancel()
            caller.outcome = .canceled
        case 95:
            note("\(caller.number) discards")
            download.discard()
            caller.outcome = .canceled
        case 96..<98:
            note("\(caller.number) replaces the URL")
            try download.replaceURL(with: fixture.url("/one/\(history.count)"))
        default:
            guard caller.consumerCount > 0 else { return }
            let isListener = caller.awaiting == nil || caller.listening != nil && chance(2)
            note("\(caller.number) cancels the task that \(isListener ? "reads events" : "awaits the file")")
            if await caller.cancelTask(isListener) { caller.outcome = .canceled }
        }
    }

    private func resume(_ caller: ReferenceCaller) {
        guard caller.isAttached else { return }
        note("\(caller.number) resumes")
        caller.download?.resume()
        caller.isPaused = false
    }

    private func advance(_ delay: Duration) {
        note("\(delay) pass")
        fixture.time.advance(by: delay)
    }

    private func changeObject() {
        let seed = UInt64(objects.count) + 1
        let length = Int64.random(in: 2 * Self.mebibyte...6 * Self.mebibyte, using: &generator)
        objects.append(SteppedObject(content: Content(seed: seed, length: length), tag: "\"\(seed)\""))
        note("the object has \(length) bytes and the tag \(seed)")
    }

    // MARK: The server

    private var object: SteppedObject { objects[objects.count - 1] }

    private func serve() async {
        guard let exchange = fixture.transport.open.randomElement(using: &generator) else {
            return advance(.seconds(1))
        }
        if exchange.isCancelled {
            if chance(2) { exchange.deliver(Int64.random(in: 1...Self.mebibyte, using: &generator)) }
            note("\(exchange.offset) ends as canceled")
            return exchange.end(.cancelled)
        }
        switch Int.random(in: 0..<24, using: &generator) {
        case 0:
            note("\(exchange.offset) is cut")
            exchange.end(.failed(DownloadError(.connectionLost)))
        case 1 where exchange.object == nil:
            refuse(exchange)
        case 2 where exchange.object != nil:
            note("\(exchange.offset): reported as complete with \(exchange.remainingByteCount) bytes missing")
            exchange.end(.complete)
        default:
            guard exchange.object != nil else { return answer(exchange) }
            deliver(Int64.random(in: 1...Self.mebibyte, using: &generator), of: exchange)
        }
    }

    /// Refuses a request, half of the time with a cool-down (rule 58).
    private func refuse(_ exchange: SteppedExchange) {
        let coolDown = chance(2) ? Int.random(in: 1...4, using: &generator) : nil
        note("\(exchange.offset): response 503, Retry-After \(coolDown.map(String.init) ?? "none")")
        if let coolDown {
            let end = fixture.time.now + .seconds(coolDown)
            extraCoolDownEnd = max(extraCoolDownEnd, end)
            // The refusal of an extra request counts for those only.
            if !exchange.isExtra { coolDownEnd = max(coolDownEnd, end) }
        }
        exchange.refuse(503, coolDown.map { ["Retry-After": "\($0)"] } ?? [:])
    }

    private func answer(_ exchange: SteppedExchange) {
        if let tag = exchange.request.headers["If-Match"], tag != object.tag {
            note("\(exchange.offset): response 412")
            return exchange.refuse(412)
        }
        let isPartial = exchange.answer(object)
        note("\(exchange.offset): response \(isPartial ? "206" : "200"), \(exchange.remainingByteCount) bytes")
    }

    private func deliver(_ count: Int64, of exchange: SteppedExchange) {
        note("\(exchange.offset): \(count) of \(exchange.remainingByteCount) bytes")
        exchange.deliver(count)
        if exchange.remainingByteCount == 0 { exchange.end(.complete) }
    }

    private func complete(_ exchange: SteppedExchange) async {
        await fixture.waitUntilIdle()
        if exchange.isCancelled { return exchange.end(.cancelled) }
        if exchange.object == nil {
            answer(exchange)
            await fixture.waitUntilIdle()
        }
        if exchange.object != nil { deliver(exchange.remainingByteCount, of: exchange) }
    }

    // MARK: Checks

    private func checkAll() async throws {
        await fixture.waitUntilIdle()
        for caller in callers where caller.isAttached {
            await caller.waitUntilIdle()
            if caller.download?.state == .completed { caller.outcome = .finished(object) }
            check(caller.download?.state != .failed, "\(caller.number) has failed")
        }
        checkExchanges()
        try await checkDisk()
    }

    private func checkExchanges() {
        let open = fixture.transport.open
        let running = open.filter { !$0.isCancelled }
        largestCount = max(largestCount, running.count)
        check(running.count <= Self.connectionCount, "\(running.count) exchanges at the same time")
        check(Set(running.map(\.offset)).count == running.count, "the same bytes are requested twice")
        let extras = open.filter(\.isExtra)
        check(extras.allSatisfy(\.hasNeighbor), "an exchange of a running file has no neighbor")
        check(running.isEmpty || callers.contains(where: \.wantsToRun), "an exchange that no subscriber needs")
        let new = fixture.transport.exchanges.dropFirst(exchangeCount)
        exchangeCount += new.count
        for exchange in new {
            let end = exchange.isExtra ? extraCoolDownEnd : coolDownEnd
            check(fixture.time.now >= end, "\(exchange.offset): a request during a cool-down")
        }
        let states = callers.filter(\.wantsToRun).compactMap { $0.download?.state }
        check(!states.contains(.downloading) || !open.isEmpty, "a download runs without an exchange")
        check(!states.contains(.paused), "a resumed download is paused")
    }

    /// Checks what another process would find after a kill.
    private func checkDisk() async throws {
        guard chance(4) else { return }
        await fixture.waitForStore()
        for found in try fixture.kept() {
            guard let object = objects.last(where: { found.representation.isOf($0) }) else {
                check(false, "bytes of an unknown object are on disk")
                continue
            }
            let bytes = fixture.directory.bytes(at: "\(fixture.directory.path)/\(found.fileName ?? "")") ?? []
            for range in found.received.ranges {
                let isRight =
                    range.upperBound <= bytes.count
                    && bytes[Int(range.lowerBound)..<Int(range.upperBound)]
                        .withUnsafeBytes { object.content.matches($0, at: range.lowerBound) }
                check(isRight, "\(range) is claimed and was not written")
            }
        }
    }

    /// Checks the outcome and the events of every download after all have ended.
    private func checkEnds() async {
        for caller in callers {
            let error = await caller.listening?.value
            let result = await caller.awaiting?.value
            if caller.listening != nil {
                let log = EventLog(events: caller.events, error: error ?? nil)
                for fault in log.faults(isDivided: true) { check(false, "\(caller.number): \(fault)") }
            }
            guard case .finished? = caller.outcome else { continue }
            if let name = caller.destination {
                check(objects.contains { fixture.holds($0.content, at: name) }, "\(name) is a mixture")
            } else if case .success(let file)? = result, let data = file.data {
                let isWhole = objects.contains { object in
                    Int64(data.count) == object.content.length
                        && data.withUnsafeBytes { object.content.matches($0, at: 0) }
                }
                check(isWhole, "the data of \(caller.number) is a mixture")
            }
        }
    }
}

extension Representation {
    fileprivate func isOf(_ object: SteppedObject) -> Bool {
        if case .entityTag(let tag)? = validator { tag.rawValue == object.tag } else { false }
    }
}

extension SteppedExchange {
    /// Whether the request is for a part of a file that another exchange receives.
    fileprivate var isExtra: Bool { request.headers["If-Match"] != nil }
}
