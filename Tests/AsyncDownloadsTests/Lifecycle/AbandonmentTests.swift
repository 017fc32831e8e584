import Foundation
import TestSupport
import Testing

@testable import AsyncDownloads

/// What becomes of a transfer that its callers leave (rules 51 and 55).
@Suite(.endsWhenHung)
struct AbandonmentTests {
    enum Leaving: String, CaseIterable, Sendable {
        case cancel, discard, cancelledTask
    }

    /// A caller who awaits the file, and how it ended for him.
    private struct Caller {
        let download: Download
        let awaiting: Task<DownloadError?, Never>

        init(_ request: DownloadRequest, _ downloader: Downloader) async {
            let download = downloader.start(request)
            awaiting = Task {
                do throws(DownloadError) {
                    _ = try await download.file
                    return nil
                } catch {
                    return error
                }
            }
            self.download = download
            while !download.hasWaiter { await Task.yield() }
        }

        /// Leaves, and returns how many bytes it is told to be kept.
        @discardableResult
        func leave(_ leaving: Leaving) async -> Int64? {
            switch leaving {
            case .cancel: download.cancel()
            case .discard: download.discard()
            case .cancelledTask: awaiting.cancel()
            }
            let error = await awaiting.value
            #expect(error?.code == .cancelled, "every awaiting call returns")
            #expect(download.state == .cancelled)
            return error?.retainedByteCount
        }
    }

    private static let policies: [AbandonmentPolicy] = [.pause, .finish, .discard]

    /// Callers of one resource with a destination each, and the exchange that has brought some bytes.
    private func callers(_ count: Int, on stage: LifecycleStage) async throws -> [Caller] {
        var callers: [Caller] = []
        for index in 0..<count {
            callers.append(await Caller(try stage.request(to: "\(index).bin"), stage.downloader))
        }
        try await Moment.receiving.reach(on: stage)
        return callers
    }

    @Test(arguments: policies, [1, 3])
    func `who leaves disturbs nobody, and the last is followed by the policy`(
        _ policy: AbandonmentPolicy, _ count: Int
    ) async throws {
        for leaving in Leaving.allCases {
            try await LifecycleStage.with(configure: { $0.abandonmentPolicy = policy }) { stage async throws in
                let callers = try await callers(count, on: stage)
                let exchange = try #require(stage.transport.open.first)
                for caller in callers.dropLast() {
                    await caller.leave(leaving)
                    #expect(!exchange.isCancelled)
                    #expect(callers.last?.download.state == .downloading)
                }
                let told = await callers.last?.leave(leaving)
                await stage.performEffects()
                let keeps = policy != .discard && leaving != .discard
                #expect(told == (keeps ? Moment.byteCount : 0))
                if policy == .finish, keeps {
                    #expect(!exchange.isCancelled)
                    await stage.step(Moment.object)
                    // For the one who left last: the destinations of those before are free.
                    #expect(stage.directory.names() == ["\(count - 1).bin"])
                    #expect(stage.holds(Moment.object.content, at: "\(count - 1).bin"))
                    return
                }
                #expect(exchange.isCancelled)
                // Rule 55: what an engine still delivers after it was told to stop is not written.
                exchange.deliver(20_000)
                await stage.endCancelled()
                #expect(stage.downloader.liveTransfers.isEmpty)
                #expect(try stage.keptCounts() == (keeps ? [Moment.byteCount] : []))
                if !keeps { #expect(stage.directory.names() == [], "\(leaving) leaves no trace") }

                let again = stage.downloader.start(try stage.request(to: "0.bin"))
                await stage.finish(again, Moment.object)
                #expect(stage.transport.exchanges.map(\.offset) == [0, keeps ? Moment.byteCount : 0])
                #expect(stage.directory.names() == ["0.bin"])
                #expect(stage.holds(Moment.object.content, at: "0.bin"))
            }
        }
    }

    @Test(arguments: policies)
    func `letting go of every handle changes nothing`(_ policy: AbandonmentPolicy) async throws {
        try await LifecycleStage.with(configure: { $0.abandonmentPolicy = policy }) { stage async throws in
            stage.downloader.start(try stage.request())
            try await Moment.receiving.reach(on: stage)
            await stage.step(Moment.object)
            #expect(stage.directory.names() == ["file.bin"])
            #expect(stage.holds(Moment.object.content))
        }
    }

    @Test(arguments: Moment.allCases, Leaving.allCases)
    func `who leaves at any moment and asks again goes on from every byte`(
        _ moment: Moment, _ leaving: Leaving
    ) async throws {
        // At once, or when what the leaving led to is over.
        for isPrompt in [true, false] where leaving != .discard {
            try await LifecycleStage.with(configure: { $0.maximumConcurrentTransfers = 1 }) { stage async throws in
                var request = try stage.request()
                request.checksum = Moment.object.content.sha256
                let caller = await Caller(request, stage.downloader)
                try await moment.reach(on: stage)
                await caller.leave(leaving)
                if !isPrompt, !moment.isTooLate { await stage.endCancelled() }
                let again = stage.downloader.start(request)
                stage.disk.reading.open()
                stage.disk.renaming.open()
                await stage.finish(again, Moment.object)
                #expect(again.state == .completed)
                #expect(stage.holds(Moment.object.content))
                let offsets = stage.transport.exchanges(at: "/one").map(\.offset)
                // What was being put in place for nobody is there, and asking again is another download of it.
                if !moment.isTooLate { #expect(offsets.dropFirst().allSatisfy { $0 == Moment.byteCount }) }
                await stage.performEffects()
                #expect(stage.directory.names(hiddenOnly: true) == [])
            }
        }
    }

    @Test(arguments: Moment.allCases)
    func `discarding at any moment removes every trace`(_ moment: Moment) async throws {
        for isPausedFirst in [false, true] where !(isPausedFirst && moment.isTooLate) {
            try await LifecycleStage.with(configure: { $0.maximumConcurrentTransfers = 1 }) { stage async throws in
                var request = try stage.request()
                request.checksum = Moment.object.content.sha256
                let caller = await Caller(request, stage.downloader)
                try await moment.reach(on: stage)
                if isPausedFirst {
                    caller.download.pause()
                    await stage.endCancelled()
                }
                await caller.leave(.discard)
                stage.disk.reading.open()
                stage.disk.renaming.open()
                await stage.step(Moment.object)
                // A file that was being renamed already is what was asked for, and no trace.
                let names = stage.directory.names().filter { $0 != "other.bin" }
                #expect(names == (moment == .renaming ? ["file.bin"] : []))
            }
        }
    }

    @Test func `asking again while bytes are being discarded begins anew when they are gone`() async throws {
        try await LifecycleStage.with { stage async throws in
            let caller = await Caller(try stage.request(), stage.downloader)
            try await Moment.receiving.reach(on: stage)
            await caller.leave(.discard)
            let again = stage.downloader.start(try stage.request())
            let events = again.events
            let listening = Task { await EventLog(events) }
            await stage.performEffects()
            #expect(again.state == .retrying, "the unfinished file still has its owner")
            await stage.finish(again, Moment.object)
            #expect(await listening.value.faults == [])
            #expect(stage.transport.exchanges.map(\.offset) == [0, 0])
            #expect(stage.directory.names() == ["file.bin"])
            #expect(stage.holds(Moment.object.content))
        }
    }

    @Test func `discarding what others share removes nothing of theirs`() async throws {
        try await LifecycleStage.with { stage async throws in
            let callers = try await callers(2, on: stage)
            callers[0].download.pause()
            await callers[0].leave(.discard)
            #expect(callers[1].download.state == .downloading)
            await stage.finish(callers[1].download, Moment.object)
            #expect(stage.transport.exchanges.map(\.offset) == [0])
            #expect(stage.directory.names() == ["1.bin"])
        }
    }

    @Test func `when the last who runs leaves, those who have paused stay paused`() async throws {
        try await LifecycleStage.with { stage async throws in
            let callers = try await callers(2, on: stage)
            callers[0].download.pause()
            await callers[1].leave(.cancel)
            await stage.endCancelled()
            #expect(callers[0].download.state == .paused)
            #expect(try stage.keptCounts() == [Moment.byteCount])
            callers[0].download.resume()
            await stage.finish(callers[0].download, Moment.object)
            #expect(stage.transport.exchanges.map(\.offset) == [0, Moment.byteCount])
            #expect(stage.directory.names() == ["0.bin"])
        }
    }

    @Test(arguments: [true, false])
    func `asking again for what is paused revives it from its bytes`(_ isPrompt: Bool) async throws {
        try await LifecycleStage.with { stage async throws in
            let callers = try await callers(1, on: stage)
            callers[0].download.pause()
            if !isPrompt { await stage.endCancelled() }
            let again = stage.downloader.start(try stage.request(to: "again.bin"))
            #expect(again.isCoalesced)
            let events = again.events
            let listening = Task { await EventLog(events) }
            await stage.finish(again, Moment.object)
            #expect(await listening.value.resumptions == [Moment.byteCount])
            #expect(stage.transport.exchanges.map(\.offset) == [0, Moment.byteCount])
            // Who has paused is in nobody's way, and gets his file all the same.
            #expect(callers[0].download.state == .completed)
            #expect(stage.directory.names() == ["0.bin", "again.bin"])
        }
    }

    @Test(arguments: [true, false])
    func `a pause is told to everyone who stays paused, also when another caller takes it back at once`(
        _ isNewcomer: Bool
    ) async throws {
        try await LifecycleStage.with { stage async throws in
            let callers = try await callers(2, on: stage)
            let events = callers[0].download.events
            let listening = Task { await EventLog(events) }
            callers[1].download.pause()
            callers[0].download.pause()
            // The exchange has not ended yet, so the pause of both is still under way.
            if isNewcomer {
                stage.downloader.start(try stage.request(to: "new.bin"))
            } else {
                callers[1].download.resume()
            }
            #expect(callers[0].download.state == .paused)
            await stage.finish(callers[0].download, Moment.object)
            let pauses = await listening.value.events.filter { if case .paused = $0 { true } else { false } }
            #expect(pauses.count == 1)
        }
    }

    @Test(arguments: Leaving.allCases)
    func `who leaves in the instant between the end and its being told has the file`(_ leaving: Leaving) async throws {
        try await LifecycleStage.with { stage async throws in
            var request = try stage.request()
            let deadline = Duration.seconds(9999)
            request.deadline = deadline
            let caller = await Caller(request, stage.downloader)
            // Its timers are the last that an ended transfer lets go of before it tells.
            stage.time.whenCancelled { delay in
                guard delay == deadline else { return }
                switch leaving {
                case .cancel: caller.download.cancel()
                case .discard: caller.download.discard()
                case .cancelledTask: caller.awaiting.cancel()
                }
            }
            await stage.finish(caller.download, Moment.object)
            #expect(caller.download.state == .completed)
            #expect(await caller.awaiting.value?.code == (leaving == .cancelledTask ? .cancelled : nil))
            #expect(stage.directory.names() == ["file.bin"])
            #expect(stage.holds(Moment.object.content))
        }
    }

    @Test(arguments: policies)
    func `shutting down stops whatever abandonment would do, and keeps every byte`(
        _ policy: AbandonmentPolicy
    ) async throws {
        try await LifecycleStage.with(configure: { $0.abandonmentPolicy = policy }) { stage async throws in
            let callers = try await callers(2, on: stage)
            await callers[0].leave(.cancel)
            let shutting = Task { await stage.downloader.shutdown() }
            let error = await callers[1].awaiting.value
            #expect(error?.code == .shutDown)
            #expect(error?.retainedByteCount == Moment.byteCount)
            await stage.performEffects()
            let isStopped = stage.transport.open.allSatisfy(\.isCancelled)
            #expect(isStopped)
            stage.transport.close()
            await shutting.value
            #expect(try stage.keptCounts() == [Moment.byteCount])
        }
    }
}
