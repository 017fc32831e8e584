internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct BackgroundCoreTests {
    func core(
        _ stages: [BackgroundRecord.Stage], options: BackgroundOptions = BackgroundOptions()
    ) -> BackgroundCore {
        BackgroundCore(.sample(stages, options: options))
    }

    func add(
        _ number: Int, to core: inout BackgroundCore, isPaused: Bool = false, retries: Int = 0
    ) -> [BackgroundCore.Action] {
        var resource = BackgroundResource(url: "https://example.org/\(number)")
        resource.maximumRetryCount = retries
        return core.add(
            resource, to: ContainerPath(base: .home, relative: "files/\(number)"), choosesName: false, checksum: nil,
            maximumByteCount: nil, isPaused: isPaused
        ).actions
    }

    // MARK: Force-quit and failures

    @Test(arguments: [BackgroundOptions.ForceQuitPolicy.pause, .restart])
    func `background 11: after a force-quit, the resume data is kept and the policy decides`(
        policy: BackgroundOptions.ForceQuitPolicy
    ) {
        var options = BackgroundOptions()
        options.forceQuitPolicy = policy
        var core = core([.running], options: options)
        let name = core.journal.name(1)
        let actions = core.handle(.failed(name, .userForceQuit, resumeData: "1-1.resume"))
        #expect(core.journal[1]?.resumeDataName == "1-1.resume")
        #expect(core.journal[1]?.isPaused == (policy == .pause))
        #expect(actions.starts == (policy == .pause ? [] : [core.journal.name(1, attempt: 2)]))
        #expect(actions.removedFiles == [])
    }

    @Test func `background 12: turned-off background refresh is an error, and keeps the resume data`() {
        var core = core([.running])
        let actions = core.handle(.failed(core.journal.name(1), .backgroundUpdatesDisabled, resumeData: "1-1.resume"))
        #expect(actions.failures == ["backgroundNotPermitted"])
        #expect(actions.starts.isEmpty)
        #expect(core.journal[1]?.resumeDataName == "1-1.resume")
    }

    @Test func `background 12: insufficient resources are retried, as often as the policy permits`() {
        var core = core([])
        _ = add(1, to: &core, retries: 2)
        for attempt in 1...2 {
            let actions = core.handle(
                .failed(core.journal.name(1, attempt: attempt), .insufficientResources, resumeData: nil))
            #expect(actions.starts == [core.journal.name(1, attempt: attempt + 1)])
            #expect(core.journal[1]?.notBefore != nil, "the system waits, not the app")
        }
        let actions = core.handle(.failed(core.journal.name(1, attempt: 3), .insufficientResources, resumeData: nil))
        #expect(actions.failures == ["systemResourcesExhausted"])
    }

    // MARK: Fresh starts

    @Test func `background 13: resume data that fails at once leads to one fresh start, never to a loop`() {
        var core = core([.resumed])
        let unusable = DaemonFailure.Reason.transfer(DownloadError(.connectionLost, isRetryable: false))
        let first = core.handle(.failed(core.journal.name(1), unusable, resumeData: "1-1.resume"))
        #expect(first.starts == [core.journal.name(1, attempt: 2)])
        #expect(core.journal[1]?.resumeDataName == nil)
        #expect(first.removedFiles.sorted() == ["1-0.resume", "1-1.resume"])
        #expect(first.restarts == [.partialMissing])
        // The fresh attempt gets resume data that is bogus as well.
        _ = core.setPaused(true, 1)
        _ = core.handle(.failed(core.journal.name(1, attempt: 2), .cancelled, resumeData: "1-2.resume"))
        core.journal.update(1) {
            $0.freshStartCount = 1; $0.isPaused = false
        }
        _ = core.handOver()
        let second = core.handle(.failed(core.journal.name(1, attempt: 3), unusable, resumeData: nil))
        #expect(second.starts.isEmpty)
        #expect(second.failures == ["resumeDataUnusable"])
    }

    @Test func `background 13: a failure of the network does not cost the resume data`() {
        var core = core([])
        _ = add(1, to: &core, retries: 1)
        let lost = DaemonFailure.Reason.transfer(DownloadError(.connectionLost))
        let actions = core.handle(.failed(core.journal.name(1), lost, resumeData: "1-1.resume"))
        #expect(actions.starts == [core.journal.name(1, attempt: 2)])
        #expect(core.journal[1]?.resumeDataName == "1-1.resume")
        #expect(actions.removedFiles == [])
    }

    @Test func `background 14: a tail-only file is discarded, and the download starts anew once`() {
        var core = core([.resumed])
        func tail(_ attempt: Int) -> DaemonEvent {
            let name = core.journal.name(1, attempt: attempt)
            return .finished(name, .sample(name, status: 206, byteCount: 6, headers: ["Content-Range": "bytes 4-9/10"]))
        }
        let first = core.handle(tail(1))
        #expect(first.restarts == [.invalidPartialResponse])
        #expect(first.removedFiles.contains("1-1.body"))
        #expect(first.starts == [core.journal.name(1, attempt: 2)])
        // Without resume data, a partial response is not what was requested.
        #expect(core.handle(tail(2)).failures == ["malformedResponse"])
    }

    @Test func `background 8: a lost task is started anew once, and then fails`() {
        var core = core([.running])
        #expect(core.lost(1).starts == [core.journal.name(1, attempt: 2)])
        _ = core.handle(.progressed(core.journal.name(1, attempt: 2), received: 1, expected: nil))
        #expect(core.lost(1).failures == ["taskLost"])
        #expect(core.lost(1).isEmpty, "a record without a task cannot lose one")
    }

    @Test func `background 8: a task that the system never had is started again without counting as lost`() {
        var core = core([.handedOver(.init(resumeData: "1-0.resume"))])
        for attempt in 2...5 {
            #expect(core.lost(1).starts == [core.journal.name(1, attempt: attempt)])
            #expect(core.journal[1]?.resumeDataName == "1-0.resume")
        }
        #expect(core.journal[1]?.freshStartCount == 0)
    }

    @Test func `background 8: a paused download whose task is lost stays paused`() {
        var core = core([.running])
        _ = core.setPaused(true, 1)
        let actions = core.lost(1)
        #expect(actions.starts.isEmpty && actions.failures.isEmpty)
        #expect(core.journal[1]?.isPaused == true)
    }

    // MARK: Late and repeated events

    @Test func `background 4: an event of an earlier attempt changes nothing, and its file is removed`() {
        var core = core([.running])
        let old = core.journal.name(1)
        _ = core.setPaused(true, 1)
        _ = core.handle(.failed(old, .cancelled, resumeData: "1-1.resume"))
        _ = core.setPaused(false, 1)
        let before = core.journal
        #expect(core.handle(.finished(old, .sample(old))).removedFiles == ["1-1.body"])
        let repeated = core.handle(.failed(old, .cancelled, resumeData: "1-1.resume"))
        #expect(repeated.removedFiles == [], "the present attempt continues from it")
        #expect(core.handle(.progressed(old, received: 5, expected: nil)).isEmpty)
        #expect(core.handle(.ended(old)).isEmpty)
        #expect(core.journal == before)
    }

    @Test func `background 5: a repeated event of a finished task keeps the file`() {
        var core = core([.running])
        let name = core.journal.name(1)
        #expect(core.handle(.finished(name, .sample(name))).places == [1])
        let repeated = core.handle(.finished(name, .sample(name)))
        #expect(repeated.removedFiles.isEmpty && repeated.places.isEmpty)
        #expect(core.handle(.ended(name)).isEmpty)
    }

    @Test func `background 7: a task that ends without a file is started anew`() {
        var core = core([.running])
        #expect(core.handle(.ended(core.journal.name(1))).starts == [core.journal.name(1, attempt: 2)])
    }

    @Test func `background 7: a 404 fails with its status, and its body is removed`() {
        var core = core([.running])
        let name = core.journal.name(1)
        let actions = core.handle(.finished(name, .sample(name, status: 404)))
        #expect(actions.failures == ["httpStatus"])
        #expect(actions.removedFiles == ["1-1.body"])
    }

    // MARK: Handing over

    @Test func `background 17: a batch is handed over at once, up to the limit, and topped up in the foreground only`()
    {
        var options = BackgroundOptions()
        options.maximumTaskCount = 3
        var core = core([], options: options)
        var started: [DaemonTaskName] = []
        for number in 1...7 { started += add(number, to: &core).starts }
        #expect(started.map(\.record) == [1, 2, 3])
        core.isInForeground = false
        let name = core.journal.name(1)
        let inBackground = core.handle(.finished(name, .sample(name)))
        #expect(inBackground.starts.map(\.record) == [4], "it was requested while the app was in the foreground")
    }

    @Test func `background 17: what waits in the journal of an earlier launch is not handed over in the background`() {
        var core = core([.running, .idle(resumeData: nil), .idle(resumeData: nil)])
        core.isInForeground = false
        let name = core.journal.name(1)
        #expect(core.handle(.finished(name, .sample(name))).starts.isEmpty)
        #expect(add(3, to: &core).starts.map(\.record) == [3], "a caller asks for it now")
        core.isInForeground = true
        #expect(core.handOver().starts.map(\.record) == [2])
    }

    @Test func `background 17: downloads of higher priority are handed over first`() {
        var core = core([])
        core.isInForeground = true
        var low = BackgroundResource(url: "https://example.org/low")
        low.priorityRank = -1
        let id = core.journal.add(low)
        core.journal.update(id) { $0.deliveries = [.init(id: 1, destination: .init(base: .home, relative: "low"))] }
        #expect(add(2, to: &core).starts.map(\.record) == [2, 1])
    }

    @Test func `background 18: changed options make a new generation, and tasks keep theirs`() {
        var core = core([.running])
        var options = BackgroundOptions()
        options.maximumTaskCount = 5
        core.journal.use(options)
        #expect(core.journal.generations.map(\.number) == [0], "the system's tasks are configured alike")
        options.isDiscretionary = true
        core.journal.use(options)
        core.journal.use(options)
        #expect(core.journal.generations.map(\.number) == [0, 1])
        #expect(core.journal.current.options == options)
        let generations = add(2, to: &core).startGenerations
        #expect(generations == [1])
        #expect(core.journal[1]?.generation == 0)
        let name = core.journal.name(1)
        _ = core.handle(.finished(name, .sample(name)))
        core.journal.removeUnusedGenerations()
        #expect(core.journal.generations.map(\.number) == [1])
    }
}
