internal import Foundation
internal import ScriptedDaemon
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Random sequences of launches and kills of an app, compared with invariants.
@Suite(.endsWhenHung(minutes: 12))
struct AppLivesTests {
    @Test(arguments: Seeds.first(10))
    func `after random launches, kills, force-quits, reboots, and updates, each download has one correct outcome`(
        seed: UInt64
    ) async throws {
        var run = try AppLivesRun(seed: seed)
        for _ in 0..<40 {
            try await run.step()
            try run.check()
        }
        try await run.finish()
    }
}

/// One random run, with the model of the outcomes that the app has received.
struct AppLivesRun {
    private enum Outcome: Hashable {
        case finished
        case failed(String)
    }

    private let seed: UInt64
    private let app: BackgroundApp
    private var random: SplitMix64
    private var life: BackgroundApp.Life?
    /// The handles of the current process.
    private var handles: [Int: Download] = [:]
    /// The requested downloads whose outcomes the app has not received.
    private var wanted: Set<Int> = []
    private var discarded: Set<Int> = []
    private var outcomes: [Int: Outcome] = [:]
    private var paused: Set<Int> = []
    /// How often the service has finished each resource.
    private var fetchCount: [String: Int] = [:]
    /// How often a fetch may have been repeated for a reason.
    private var repeatCount = 0
    private var lastNumber = 0
    private var log: [String] = []

    init(seed: UInt64) throws {
        self.seed = seed
        random = SplitMix64(seed: seed)
        app = try BackgroundApp()
    }

    private mutating func note(_ text: String) { log.append(text) }

    private var options: BackgroundOptions {
        var options = BackgroundOptions()
        options.maximumTaskCount = 4
        return options
    }

    // MARK: Steps

    mutating func step() async throws {
        guard life != nil else { return try await launch() }
        switch Int.random(in: 0..<16, using: &random) {
        case 0...3: try await start()
        case 4: try await serviceFinishes()
        case 5: try await serviceFinishes()
        case 6: try serviceProgresses()
        case 7: try serviceFails()
        case 8: try await deliver()
        case 9: try await deliver()
        case 10: try await pauseOrResume()
        case 11: kill("kill")
        case 12: try forceQuit()
        case 13: try reboot()
        case 14:
            kill("kill for an update")
            try app.update()
        default:
            note("foreground changes")
            if app.lifecycle.isInForeground { app.lifecycle.enterBackground() } else { app.lifecycle.enterForeground() }
            try await life?.settle()
        }
        try await collect()
    }

    private mutating func launch() async throws {
        var misbehavior = ScriptedDaemon.Misbehavior()
        misbehavior.deliversAtOnce = Bool.random(using: &random)
        misbehavior.repeatsEvents = Bool.random(using: &random)
        misbehavior.delaysResumeData = Bool.random(using: &random)
        let life = app.launch(options: options, misbehavior: misbehavior) {
            $0.retryPolicy = RetryPolicy(maximumRetries: 1)
        }
        self.life = life
        note("launch")
        try await life.settle()
        try await life.deliver()
        app.time.advance(by: .seconds(10))
        try await life.settle()
        if Bool.random(using: &random) {
            note("restore")
            for restored in try await life.downloader.restored() {
                let number = try #require(Int(restored.download.request.url.lastPathComponent))
                #expect(wanted.contains(number), "seed \(seed): \(number) was restored although it is not wanted")
                handles[number] = restored.download
                if restored.condition == .paused { paused.insert(number) } else { paused.remove(number) }
            }
        } else {
            note("ask again")
            for number in wanted.sorted() {
                handles[number] = life.downloader.start(app.request(number))
                paused.remove(number)
            }
        }
        try await life.settle()
        try await collect()
    }

    private mutating func start() async throws {
        lastNumber += 1
        note("start \(lastNumber)")
        wanted.insert(lastNumber)
        handles[lastNumber] = life?.downloader.start(app.request(lastNumber))
        if Bool.random(using: &random) { try await life?.settle() }
    }

    private func randomTask(_ random: inout SplitMix64) -> SpoolDirectory.StoredTask? {
        app.tasks.randomElement(using: &random)
    }

    private mutating func serviceFinishes() async throws {
        guard let task = randomTask(&random) else { return }
        let isTailOnly = task.resumeData != nil && Int.random(in: 0..<4, using: &random) == 0
        note("service finishes \(task.url)\(isTailOnly ? ", tail only" : "")")
        fetchCount[task.url, default: 0] += 1
        if isTailOnly { repeatCount += 1 }
        try app.service.finish(task, isTailOnly: isTailOnly)
    }

    private mutating func serviceProgresses() throws {
        guard let task = randomTask(&random), task.received < 20 else { return }
        try app.service.progress(task, received: task.received + 3)
    }

    private mutating func serviceFails() throws {
        guard let task = randomTask(&random) else { return }
        let isRetryable = Bool.random(using: &random)
        note("service fails \(task.url)")
        try app.service.fail(
            task, reason: "x", isRetryable: isRetryable,
            resumeData: task.received > 0 ? ScriptedService.resumeData(of: task) : nil)
    }

    private mutating func deliver() async throws {
        note("deliver")
        try await life?.deliver()
    }

    private mutating func pauseOrResume() async throws {
        guard let number = handles.keys.sorted().randomElement(using: &random), let handle = handles[number] else {
            return
        }
        if handle.state == .paused {
            note("resume \(number)")
            paused.remove(number)
            handle.resume()
        } else {
            note("pause \(number)")
            paused.insert(number)
            handle.pause()
        }
        try await life?.settle()
    }

    private mutating func kill(_ reason: String) {
        note(reason)
        life?.kill()
        life = nil
        handles = [:]
    }

    /// The user quits the app in the app switcher: every task ends with that reason.
    private mutating func forceQuit() throws {
        kill("force-quit")
        for task in app.tasks {
            try app.service.fail(
                task, reason: "0", resumeData: task.received > 0 ? ScriptedService.resumeData(of: task) : nil)
        }
    }

    /// The machine restarts: the service keeps its tasks, and loses one now and then.
    private mutating func reboot() throws {
        kill("reboot")
        if Int.random(in: 0..<3, using: &random) == 0, let task = randomTask(&random) {
            note("service loses \(task.url)")
            _ = app.service.directory.remove(task)
            repeatCount += 1
        }
    }

    /// Takes the outcomes that handles have received.
    ///
    /// - Parameter isLazy: Whether the app may only see that a file has arrived, so that it has to receive it later.
    private mutating func collect(isLazy: Bool = true) async throws {
        try await life?.settle()
        for (number, handle) in handles {
            switch handle.state {
            case .completed:
                if isLazy, Int.random(in: 0..<3, using: &random) == 0 { continue }
                _ = try await handle.file
                #expect(outcomes.updateValue(.finished, forKey: number) == nil, "seed \(seed): \(number) ended twice")
                #expect(
                    app.isInPlace(number), "seed \(seed): \(number) is not in place\n\(log.joined(separator: "\n"))")
            case .failed:
                let code = await handle.failure?.code.name ?? ""
                outcomes[number] = .failed(code)
            default: continue
            }
            wanted.remove(number)
            paused.remove(number)
            handles[number] = nil
        }
        try await life?.settle()
    }

    // MARK: Checks

    /// Checks the invariants that hold at every moment.
    func check() throws {
        for name in app.placedNames {
            let number = try #require(Int(name), "seed \(seed): a file \(name) was placed that no request names")
            #expect(app.isInPlace(number), "seed \(seed): \(name) is not whole")
        }
        let names = app.tasks.compactMap(\.description)
        #expect(Set(names).count == names.count, "seed \(seed): two tasks have one name")
        let journal = app.journal ?? .sample()
        for name in names.compactMap({ DaemonTaskName($0) }) {
            #expect(journal.lastNumber >= name.record, "seed \(seed): task \(name.text) is not in the journal")
        }
    }

    /// Lets everything end, and checks the outcomes.
    mutating func finish() async throws {
        kill("last kill")
        app.lifecycle.enterForeground()
        for round in 0..<60 where !wanted.isEmpty || round == 0 {
            if life == nil { try await launch() }
            for (_, handle) in handles where handle.state == .paused { handle.resume() }
            try await life?.settle()
            for task in app.tasks {
                fetchCount[task.url, default: 0] += 1
                try app.service.finish(task)
            }
            try await deliver()
            try await collect(isLazy: false)
            for number in wanted where handles[number] == nil {
                handles[number] = life?.downloader.start(app.request(number))
            }
        }
        #expect(wanted.isEmpty, "seed \(seed): no outcome for \(wanted.sorted())\n\(log.joined(separator: "\n"))")
        let finished = outcomes.filter { $0.value == .finished }.keys
        for number in finished { #expect(app.isInPlace(number), "seed \(seed)") }
        for (number, outcome) in outcomes {
            if case .failed(let code) = outcome {
                let isExpected = ["connectionLost", "taskLost", "resumeDataUnusable", "malformedResponse"].contains(
                    code)
                #expect(isExpected, "seed \(seed): \(number) failed with \(code)")
            }
        }
        try await life?.settle()
        #expect(app.spooledNames.allSatisfy { $0.hasSuffix(".resume") }, "seed \(seed): \(app.spooledNames)")
        let extra = fetchCount.values.map { $0 - 1 }.reduce(0, +)
        #expect(extra <= repeatCount, "seed \(seed): \(extra) fetches too many\n\(log.joined(separator: "\n"))")
    }
}
