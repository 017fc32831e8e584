internal import Foundation
internal import Testing

@testable import AsyncDownloads

/// Fresh starts, retries, and other URLs.
extension BackgroundCoreTests {
    private func receive(
        _ core: inout BackgroundCore, _ attempt: Int = 1, headers: HeaderFields = ["Content-Length": "10"]
    ) -> [BackgroundCore.Action] {
        let name = core.journal.name(1, attempt: attempt)
        return core.handle(.finished(name, .sample(name, headers: headers)))
    }

    @Test func `background 13: resume data that cannot be read is dropped before the record is saved`() {
        var core = core([.idle(resumeData: "1-1.resume")])
        core.journal.update(1) { $0.attempt = 1 }
        let name = core.journal.name(1, attempt: 2)
        #expect(core.handOver().starts == [name])
        #expect(core.resumeDataName(for: name) == "1-1.resume")
        core.removeResumeData(of: name)
        #expect(core.resumeDataName(for: name) == nil)
        // The response has no length, so a continued download would have to restart.
        #expect(receive(&core, 2, headers: [:]).places == [1])
    }

    @Test func `background 14: a wrong digest of a resumed file leads to one fresh start`() {
        var core = core([.resumed])
        core.journal.update(1) { $0.deliveries[0].checksum = "sha-256=00" }
        #expect(receive(&core).places == [1])
        let error = DownloadError(.checksumMismatch)
        let again = core.resumedBodyIsWrong(1, error)
        #expect(again.restarts == [.digestMismatch] && again.removedFiles == ["1-1.body"])
        #expect(again.starts == [core.journal.name(1, attempt: 2)])
        #expect(receive(&core, 2).places == [1])
        guard case .received(let body)? = core.journal[1]?.stage else { return }
        #expect(body.wasResumed == false)
        #expect(core.resumedBodyIsWrong(1, error).failures == ["checksumMismatch"], "never a loop")
    }

    @Test func `background 14: a checksum proves a resumed file without a length, and only if all handles have one`() {
        for checksum in [nil, "sha-256=00"] {
            var core = core([.resumed])
            core.journal.update(1) { $0.deliveries[0].checksum = checksum }
            #expect(receive(&core, headers: [:]).places == (checksum == nil ? [] : [1]))
        }
    }

    @Test func `background 17: further attempts of a task are handed over in the background`() {
        for makeReason in [DaemonFailure.Reason.insufficientResources, .fileMissing] {
            var core = core([])
            _ = add(1, to: &core, retries: 1)
            _ = add(2, to: &core, isPaused: true)
            core.isInForeground = false
            let actions = core.handle(.failed(core.journal.name(1), makeReason, resumeData: nil))
            #expect(actions.starts == [core.journal.name(1, attempt: 2)])
        }
    }

    @Test func `the count of retries starts again after progress`() {
        var core = core([])
        _ = add(1, to: &core, retries: 1)
        let lost = DaemonFailure.Reason.transfer(DownloadError(.connectionLost))
        for attempt in 1...3 {
            let name = core.journal.name(1, attempt: attempt)
            _ = core.handle(.progressed(name, received: Int64(attempt * 3), expected: nil))
            let actions = core.handle(.failed(name, lost, resumeData: "1-\(attempt).resume"))
            #expect(actions.starts == [core.journal.name(1, attempt: attempt + 1)], "attempt \(attempt)")
        }
        let last = core.handle(.failed(core.journal.name(1, attempt: 4), lost, resumeData: nil))
        #expect(last.starts.isEmpty == false || last.failures == ["connectionLost"])
    }

    @Test func `background 13: progress makes the number of retries start at zero for a stopped task, too`() {
        var core = core([])
        _ = add(1, to: &core, retries: 1)
        _ = core.handle(.failed(core.journal.name(1), .insufficientResources, resumeData: nil))
        #expect(core.journal[1]?.retries.retriesUsed == 1)
        let name = core.journal.name(1, attempt: 2)
        _ = core.handle(.progressed(name, received: 3, expected: nil))
        _ = core.handle(.failed(name, .userForceQuit, resumeData: "1-2.resume"))
        #expect(core.journal[1]?.retries.retriesUsed == 0)
    }

    @Test func `background 4: a task that another attempt has replaced is canceled`() {
        var core = core([.running])
        core.journal.update(1) { $0.attempt = 2 }
        let plan = RelaunchPlan(
            core.journal, tasks: [(0, DaemonTask(description: core.journal.name(1).text))], events: [],
            isEverythingDelivered: false)
        #expect(core.adopt(plan).cancels == [core.journal.name(1)])
    }

    @Test func `a complete file is not paused`() {
        var core = core([.running])
        _ = core.setPaused(true, 1)
        _ = receive(&core)
        #expect(core.journal[1]?.isPaused == false)
    }

    @Test func `a request has the headers and the settings of its resource, and no content coding`() throws {
        var core = core([])
        var resource = BackgroundResource(url: "https://example.org/1", headers: [["Accept", "video/mp4"]])
        (resource.expectedByteCount, resource.earliestBegin) = (5, 9)
        let added = core.add(
            resource, to: .init(base: .home, relative: "a"), choosesName: false, checksum: nil, maximumByteCount: nil,
            isPaused: false)
        let name = try #require(added.actions.starts.first)
        let request = try #require(core.request(for: name, resumeData: nil))
        #expect(request.headers["Accept"] == "video/mp4" && request.headers["Accept-Encoding"] == "identity")
        #expect(request.expectedByteCount == 5 && request.earliestBegin == 9)
        #expect(core.request(for: core.journal.name(1, attempt: 2), resumeData: nil) == nil)
    }

    @Test func `a request after a failure uses the settings of the new request`() {
        var core = core([])
        _ = add(1, to: &core, retries: 0)
        _ = core.handle(.failed(core.journal.name(1), .insufficientResources, resumeData: "1-1.resume"))
        _ = add(1, to: &core, retries: 3)
        #expect(core.journal[1]?.resource.maximumRetryCount == 3)
    }

    @Test(arguments: [true, false])
    func `a file that could not be placed is kept, and one with a wrong digest is not`(isWrong: Bool) {
        var core = core([.running])
        _ = receive(&core)
        let error = DownloadError(isWrong ? .checksumMismatch : .diskFull)
        let actions = core.placed([(1, .failed(RecordedError(error)))], of: 1)
        #expect(actions.removedFiles == (isWrong ? ["1-1.body"] : []))
        #expect(core.journal[1]?.stage == .idle(resumeData: nil) || !isWrong)
        #expect(add(1, to: &core).places == (isWrong ? [] : [1]))
    }

    // MARK: URLs

    private func refusal(
        _ core: inout BackgroundCore, _ attempt: Int = 1, status: Int = 403
    ) -> [BackgroundCore.Action] {
        let name = core.journal.name(1, attempt: attempt)
        return core.handle(.finished(name, .sample(name, status: status)))
    }

    @Test(arguments: [401, 403, 410])
    func `a handle is asked for a fresh URL when a server refuses the present one`(status: Int) throws {
        var core = core([])
        _ = add(1, to: &core)
        core.refreshable = [1]
        let actions = refusal(&core, status: status)
        #expect(actions.refreshes == [.status(status)] && actions.starts.isEmpty && actions.failures.isEmpty)
        #expect(core.handOver().starts.isEmpty, "the fresh URL is awaited")
        let next = core.journal.name(1, attempt: 2)
        #expect(core.urlRefreshed(1, .success("https://example.org/fresh")).starts == [next])
        let request = try #require(core.request(for: next, resumeData: nil))
        #expect(request.url.absoluteString == "https://example.org/fresh")
        // The fresh URL is refused as well.
        #expect(refusal(&core, 2, status: status).failures == ["httpStatus"])
    }

    @Test func `without a handle, and for other statuses, no URL is asked for`() {
        var core = core([.running, .running])
        #expect(refusal(&core).failures == ["httpStatus"])
        core.refreshable = [2]
        let name = core.journal.name(2)
        #expect(core.handle(.finished(name, .sample(name, status: 404))).failures == ["httpStatus"])
    }

    @Test func `a failure to get a fresh URL counts as a failed attempt`() {
        var core = core([])
        _ = add(1, to: &core, retries: 1)
        core.refreshable = [1]
        _ = refusal(&core)
        let failure = Result<String, DownloadError>.failure(DownloadError(.urlRefreshFailed))
        #expect(core.urlRefreshed(1, failure).starts == [core.journal.name(1, attempt: 2)])
        #expect(refusal(&core, 2).refreshes == [.status(403)])
        #expect(core.urlRefreshed(1, failure).failures == ["urlRefreshFailed"])
    }

    @Test func `a request with the same identity supplies the next URL, and resume data keeps its own`() throws {
        func ask(_ url: String, _ core: inout BackgroundCore) -> [BackgroundCore.Action] {
            let resource = BackgroundResource(url: "https://example.org/\(url)", identity: "film")
            return core.add(
                resource, to: .init(base: .home, relative: "a"), choosesName: false, checksum: nil,
                maximumByteCount: nil, isPaused: false
            ).actions
        }
        var core = core([])
        _ = ask("old", &core)
        _ = core.setPaused(true, 1)
        _ = core.handle(.failed(core.journal.name(1), .cancelled, resumeData: "1-1.resume"))
        let second = core.journal.name(1, attempt: 2)
        #expect(ask("new", &core).starts == [second])
        #expect(core.request(for: second, resumeData: [1])?.url.lastPathComponent == "old")
        // The service continues with the URL in its resume data, which has expired.
        let actions = refusal(&core, 2)
        let third = core.journal.name(1, attempt: 3)
        #expect(actions.starts == [third] && actions.failures.isEmpty)
        #expect(core.request(for: third, resumeData: nil)?.url.lastPathComponent == "new")
        #expect(refusal(&core, 3).failures == ["httpStatus"])
    }
}

extension [BackgroundCore.Action] {
    var refreshes: [URLRefresh.Reason] {
        compactMap { if case .refreshURL(_, let context, _) = $0 { context.reason } else { nil } }
    }
}
