internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Transfers that wait for their first permit, which need no state machine, and their activation.
@Suite(.endsWhenHung)
struct QueuedTransferTests {
    /// An action of a caller on a queued download that doesn't make it active.
    enum Step: CaseIterable, Sendable {
        case pause, resume, cancel
    }

    /// Runs `body` with a downloader of one permit, which another download holds until `body` releases it.
    func withFullQueue(
        configure: (inout Downloader.Configuration) -> Void = { _ in },
        _ body: (TestEnvironment, _ held: Download) async throws -> Void
    ) async throws {
        try await TestEnvironment.with(configure: {
            $0.maximumConcurrentTransfers = 1
            configure(&$0)
        }) { environment async throws in
            for name in ["a", "b", "c"] { environment.server.serve(Resource(Content(seed: 1, length: 1000)), at: name) }
            var resource = Resource(Content(seed: 1, length: 1000), script: [[.holdHead]])
            resource.repeatsLastStep = true
            environment.server.serve(resource, at: "held")
            let held = environment.downloader.start(environment.request("held", to: "held"))
            _ = await environment.server.requests(at: "held", reaching: 1)
            try await body(environment, held)
        }
    }

    @Test
    func `a download that waits, is paused, resumed, awaited, or canceled has no state machine`() async throws {
        try await withFullQueue { environment, held async throws in
            let download = environment.downloader.start(environment.request("a"))
            let transfer = try download.transfer
            #expect(download.state == .waiting)
            #expect(download.progress == DownloadProgress())
            download.pause()
            #expect(download.state == .paused)
            download.resume()
            #expect(download.state == .waiting)
            let outcome = Task { await environment.result(of: download) }
            while !transfer.isAwaitedInQueue { await Task.yield() }
            download.cancel()
            #expect(download.state == .cancelled)
            guard case .failure(let error) = await outcome.value else {
                Issue.record("a canceled download has a file")
                return
            }
            #expect(error.code == .cancelled)
            #expect(error.url == download.request.url)
            #expect(error.retainedByteCount == 0)
            #expect(transfer.activeTransfer == nil)
        }
    }

    @Test(arguments: 0..<15)
    func `after any steps, a queued transfer is like one that had a state machine from the start`(
        _ seed: UInt64
    ) async throws {
        try await withFullQueue { environment, held async throws in
            let queued = environment.downloader.start(environment.request("a", to: "a"))
            let active = environment.downloader.start(environment.request("b", to: "b"))
            let events = active.events
            #expect(try active.transfer.activeTransfer != nil)
            var generator = SplitMix64(seed: seed)
            for _ in 0..<Int.random(in: 0...8, using: &generator) {
                let step = Step.allCases[min(Int.random(in: 0...5, using: &generator) / 2, 2)]
                for download in [queued, active] {
                    switch step {
                    case .pause: download.pause()
                    case .resume: download.resume()
                    case .cancel: download.cancel()
                    }
                }
                #expect(queued.state == active.state, "seed \(seed)")
            }
            #expect(try queued.transfer.activeTransfer == nil)
            for download in [queued, active] { download.resume() }
            let logs = [queued.events, events].map { events in Task { await EventLog(events) } }
            held.cancel()
            let (first, second) = (await logs[0].value, await logs[1].value)
            #expect(first.lifeCycle == second.lifeCycle, "seed \(seed)")
            #expect(first.error?.code == second.error?.code)
            #expect(queued.state == active.state)
        }
    }

    @Test
    func `a download keeps its place in line across pauses`() async throws {
        try await withFullQueue { environment, held async throws in
            let names = ["a", "b", "c"]
            let downloads = names.map { environment.downloader.start(environment.request($0, to: $0)) }
            for download in [downloads[0], downloads[1]] {
                download.pause()
                download.resume()
            }
            held.cancel()
            for download in downloads { _ = try await download.file }
            #expect(environment.server.requests().map(\.path).dropFirst() == ["/a", "/b", "/c"])
        }
    }

    @Test(arguments: [false, true])
    func `a canceled download frees its key and its destination at once`(isPaused: Bool) async throws {
        try await withFullQueue { environment, held async throws in
            let first = environment.downloader.start(environment.request("a"))
            if isPaused { first.pause() }
            first.cancel()
            let second = environment.downloader.start(environment.request("b"))
            #expect(!second.isCoalesced)
            #expect(second.state == .waiting)
            let third = environment.downloader.start(environment.request("a", to: "other"))
            #expect(!third.isCoalesced)
            held.cancel()
            _ = try await second.file
            _ = try await third.file
        }
    }

    @Test
    func `a paused download whose handle was released makes room for another one of its destination`() async throws {
        try await withFullQueue { environment, held async throws in
            environment.downloader.start(environment.request("a")).pause()
            let second = environment.downloader.start(environment.request("b"))
            held.cancel()
            #expect(try await second.file.byteCount == 1000)
            #expect(environment.server.requests(at: "a").isEmpty)
        }
    }

    @Test
    func `a second request joins a queued transfer, whose earlier consumer gets the file too`() async throws {
        try await withFullQueue { environment, held async throws in
            let first = environment.downloader.start(environment.request("a"))
            let transfer = try first.transfer
            let outcome = Task { await environment.result(of: first) }
            while !transfer.isAwaitedInQueue { await Task.yield() }
            let second = environment.downloader.start(environment.request("a"))
            #expect(second.isCoalesced)
            #expect(transfer.activeTransfer != nil)
            held.cancel()
            #expect(try await second.file.byteCount == 1000)
            #expect(try await outcome.value.get().byteCount == 1000)
            #expect(environment.server.requests(at: "a").count == 1)
        }
    }

    @Test
    func `the cancellation of the only task that awaits a queued download cancels it`() async throws {
        try await withFullQueue { environment, held async throws in
            let download = environment.downloader.start(environment.request("a"))
            let transfer = try download.transfer
            let outcome = Task { await environment.result(of: download) }
            while !transfer.isAwaitedInQueue { await Task.yield() }
            outcome.cancel()
            guard case .failure(let error) = await outcome.value else {
                Issue.record("a canceled task got a file")
                return
            }
            #expect(error.code == .cancelled)
            #expect(download.state == .cancelled)
        }
    }

    @Test
    func `a stream of a download that was canceled in the queue has its history and its error`() async throws {
        try await withFullQueue { environment, held async throws in
            let download = environment.downloader.start(environment.request("a"))
            download.pause()
            download.cancel()
            let log = await EventLog(of: download)
            #expect(log.lifeCycle == ["waiting", "paused"])
            #expect(log.error?.code == .cancelled)
            #expect(await EventLog(of: download).error?.code == .cancelled)
        }
    }

    @Test
    func `a shutdown ends queued downloads with its error`() async throws {
        try await withFullQueue { environment, held async throws in
            let downloads = ["a", "b"].map { environment.downloader.start(environment.request($0, to: $0)) }
            downloads[1].pause()
            await environment.downloader.shutdown()
            for download in downloads {
                #expect(try download.transfer.activeTransfer == nil)
                let error = await #expect(throws: DownloadError.self) { try await download.file }
                #expect(error?.code == .shutDown)
                #expect(download.state == .failed)
            }
        }
    }

    @Test(arguments: [AbandonmentPolicy.finish, .discard])
    func `another policy than a pause applies to a canceled download of the queue`(
        _ policy: AbandonmentPolicy
    ) async throws {
        try await withFullQueue(configure: { $0.abandonmentPolicy = policy }) { environment, held async throws in
            let download = environment.downloader.start(environment.request("a"))
            download.cancel()
            #expect(download.state == .cancelled)
            // A cancellation would let the held transfer finish, too.
            held.discard()
            while !environment.downloader.liveTransfers.isEmpty { await Task.yield() }
            #expect(environment.server.requests(at: "a").count == (policy == .finish ? 1 : 0))
            #expect(try environment.leftovers.contains("file.bin") == (policy == .finish))
        }
    }

    @Test
    func `all downloads of a queue can be paused and resumed without state machines`() async throws {
        try await withFullQueue { environment, held async throws in
            let names = ["a", "b", "c"]
            let downloads = names.map { environment.downloader.start(environment.request($0, to: $0)) }
            environment.downloader.pauseAll()
            #expect(downloads.allSatisfy { $0.state == .paused })
            #expect(try downloads.allSatisfy { try $0.transfer.activeTransfer == nil })
            held.cancel()
            environment.downloader.resumeAll()
            for download in downloads { _ = try await download.file }
            #expect(environment.server.requests().map(\.path).dropFirst() == ["/a", "/b", "/c"])
        }
    }

    @Test
    func `a request with a deadline ends in the queue when the deadline passes`() async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(time: time, configure: { $0.maximumConcurrentTransfers = 1 }) {
            environment async throws in
            environment.server.serve(Resource(Content(seed: 1, length: 10), script: [[.holdHead]]), at: "held")
            let held = environment.downloader.start(environment.request("held", to: "held"))
            _ = await environment.server.requests(at: "held", reaching: 1)
            var request = environment.request("a")
            request.deadline = .seconds(5)
            let download = environment.downloader.start(request)
            time.advance(by: .seconds(5))
            let error = await #expect(throws: DownloadError.self) { try await download.file }
            #expect(error?.code == .deadlineExceeded)
            held.cancel()
        }
    }
}

extension Download {
    /// The transfer of a download that was accepted.
    var transfer: TransferSlot {
        get throws {
            guard let transfer = foregroundTransfer else { throw DownloadError(.invalidRequest) }
            return transfer
        }
    }
}

extension TransferSlot {
    /// Whether the transfer is queued and its outcome is awaited.
    fileprivate var isAwaitedInQueue: Bool {
        switch currentStage {
        case .queued(let queued): queued.hasConsumers
        case .active: false
        }
    }
}

extension TestEnvironment {
    func result(of download: Download) async -> Result<DownloadedFile, DownloadError> {
        do throws(DownloadError) {
            return .success(try await download.file)
        } catch {
            return .failure(error)
        }
    }
}

extension EventLog {
    /// The names of the events, without progress, whose number depends on the parts that the engine delivers.
    fileprivate var lifeCycle: [String] {
        events.compactMap { event in
            switch event {
            case .waiting: "waiting"
            case .paused: "paused"
            case .resumed: "resumed"
            case .started: "started"
            case .finished: "finished"
            case .progress, .verifying: nil
            default: "\(event)"
            }
        }
    }
}
