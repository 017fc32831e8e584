import Foundation
import TestSupport
import Testing

@testable import AsyncDownloads

/// Transfers whose downloads are all canceled (rules 51 and 55).
@Suite(.endsWhenHung)
struct AbandonmentTests {
    enum Detachment: String, CaseIterable, Sendable {
        case cancel, discard, cancelledTask
    }

    /// A download, and a task that awaits its file.
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

        /// Detaches from the transfer, and returns the number of bytes that the error reports as kept.
        @discardableResult
        func detach(_ detachment: Detachment) async -> Int64? {
            switch detachment {
            case .cancel: download.cancel()
            case .discard: download.discard()
            case .cancelledTask: awaiting.cancel()
            }
            let error = await awaiting.value
            #expect(error?.code == .cancelled, "every task that awaits the file returns")
            #expect(download.state == .cancelled)
            return error?.retainedByteCount
        }
    }

    private static let policies: [AbandonmentPolicy] = [.pause, .finish, .discard]

    /// Returns downloads of one resource with different destinations, after some bytes have been received.
    private func callers(_ count: Int, on fixture: LifecycleFixture) async throws -> [Caller] {
        var callers: [Caller] = []
        for index in 0..<count {
            callers.append(await Caller(try fixture.request(to: "\(index).bin"), fixture.downloader))
        }
        try await InterruptionPoint.receiving.reach(on: fixture)
        return callers
    }

    @Test(arguments: policies, [1, 3])
    func `canceling a download does not affect the others, and the policy applies after the last one`(
        _ policy: AbandonmentPolicy, _ count: Int
    ) async throws {
        for detachment in Detachment.allCases {
            try await LifecycleFixture.with(configure: { $0.abandonmentPolicy = policy }) { fixture async throws in
                let callers = try await callers(count, on: fixture)
                let exchange = try #require(fixture.transport.open.first)
                for caller in callers.dropLast() {
                    await caller.detach(detachment)
                    #expect(!exchange.isCancelled)
                    #expect(callers.last?.download.state == .downloading)
                }
                let reported = await callers.last?.detach(detachment)
                await fixture.waitUntilIdle()
                let keeps = policy != .discard && detachment != .discard
                #expect(reported == (keeps ? InterruptionPoint.byteCount : 0))
                if policy == .finish, keeps {
                    #expect(!exchange.isCancelled)
                    await fixture.step(InterruptionPoint.object)
                    // The file is delivered for the download that was canceled last; the earlier destinations are free.
                    #expect(fixture.directory.names() == ["\(count - 1).bin"])
                    #expect(fixture.holds(InterruptionPoint.object.content, at: "\(count - 1).bin"))
                    return
                }
                #expect(exchange.isCancelled)
                // Rule 55: bytes that an engine delivers after it was canceled are not written.
                exchange.deliver(20_000)
                await fixture.endCancelled()
                #expect(fixture.downloader.liveTransfers.isEmpty)
                #expect(try fixture.keptCounts() == (keeps ? [InterruptionPoint.byteCount] : []))
                if !keeps { #expect(fixture.directory.names() == [], "\(detachment) removes all files") }

                let again = fixture.downloader.start(try fixture.request(to: "0.bin"))
                await fixture.finish(again, InterruptionPoint.object)
                #expect(fixture.transport.exchanges.map(\.offset) == [0, keeps ? InterruptionPoint.byteCount : 0])
                #expect(fixture.directory.names() == ["0.bin"])
                #expect(fixture.holds(InterruptionPoint.object.content, at: "0.bin"))
            }
        }
    }

    @Test(arguments: policies)
    func `releasing every handle does not affect the transfer`(_ policy: AbandonmentPolicy) async throws {
        try await LifecycleFixture.with(configure: { $0.abandonmentPolicy = policy }) { fixture async throws in
            fixture.downloader.start(try fixture.request())
            try await InterruptionPoint.receiving.reach(on: fixture)
            await fixture.step(InterruptionPoint.object)
            #expect(fixture.directory.names() == ["file.bin"])
            #expect(fixture.holds(InterruptionPoint.object.content))
        }
    }

    @Test(arguments: InterruptionPoint.allCases, Detachment.allCases)
    func `a new request after a cancellation at any point continues from the received bytes`(
        _ point: InterruptionPoint, _ detachment: Detachment
    ) async throws {
        // The new request is made at once, or after the cancellation is complete.
        for isPrompt in [true, false] where detachment != .discard {
            try await LifecycleFixture.with(configure: { $0.maximumConcurrentTransfers = 1 }) { fixture async throws in
                var request = try fixture.request()
                request.checksum = InterruptionPoint.object.content.sha256
                let caller = await Caller(request, fixture.downloader)
                try await point.reach(on: fixture)
                await caller.detach(detachment)
                if !isPrompt, !point.isTooLate { await fixture.endCancelled() }
                let again = fixture.downloader.start(request)
                fixture.disk.reading.open()
                fixture.disk.renaming.open()
                await fixture.finish(again, InterruptionPoint.object)
                #expect(again.state == .completed)
                #expect(fixture.holds(InterruptionPoint.object.content))
                let offsets = fixture.transport.exchanges(at: "/one").map(\.offset)
                // A file that was being placed without subscribers is complete, so a new request is another download.
                if !point.isTooLate { #expect(offsets.dropFirst().allSatisfy { $0 == InterruptionPoint.byteCount }) }
                await fixture.waitUntilIdle()
                #expect(fixture.directory.names(hiddenOnly: true) == [])
            }
        }
    }

    @Test(arguments: InterruptionPoint.allCases)
    func `discarding at any point removes all files of the download`(_ point: InterruptionPoint) async throws {
        for isPausedFirst in [false, true] where !(isPausedFirst && point.isTooLate) {
            try await LifecycleFixture.with(configure: { $0.maximumConcurrentTransfers = 1 }) { fixture async throws in
                var request = try fixture.request()
                request.checksum = InterruptionPoint.object.content.sha256
                let caller = await Caller(request, fixture.downloader)
                try await point.reach(on: fixture)
                if isPausedFirst {
                    caller.download.pause()
                    await fixture.endCancelled()
                }
                await caller.detach(.discard)
                fixture.disk.reading.open()
                fixture.disk.renaming.open()
                await fixture.step(InterruptionPoint.object)
                // A file that was already being renamed is a complete file, not a leftover.
                let names = fixture.directory.names().filter { $0 != "other.bin" }
                #expect(names == (point == .renaming ? ["file.bin"] : []))
            }
        }
    }

    @Test func `a request made while bytes are being discarded starts from zero after their removal`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let caller = await Caller(try fixture.request(), fixture.downloader)
            try await InterruptionPoint.receiving.reach(on: fixture)
            await caller.detach(.discard)
            let again = fixture.downloader.start(try fixture.request())
            let events = again.events
            let listening = Task { await EventLog(events) }
            while again.state == .waiting { await Task.yield() }
            #expect(again.state == .downloading, "the partial file still has an owner")
            await fixture.endCancelled()
            await fixture.finish(again, InterruptionPoint.object)
            #expect(await listening.value.faults == [])
            #expect(fixture.transport.exchanges.map(\.offset) == [0, 0])
            #expect(fixture.directory.names() == ["file.bin"])
            #expect(fixture.holds(InterruptionPoint.object.content))
        }
    }

    @Test func `discarding one download keeps the bytes that others share`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let callers = try await callers(2, on: fixture)
            callers[0].download.pause()
            await callers[0].detach(.discard)
            #expect(callers[1].download.state == .downloading)
            await fixture.finish(callers[1].download, InterruptionPoint.object)
            #expect(fixture.transport.exchanges.map(\.offset) == [0])
            #expect(fixture.directory.names() == ["1.bin"])
        }
    }

    @Test func `canceling the last running download does not resume the paused ones`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let callers = try await callers(2, on: fixture)
            callers[0].download.pause()
            await callers[1].detach(.cancel)
            await fixture.endCancelled()
            #expect(callers[0].download.state == .paused)
            #expect(try fixture.keptCounts() == [InterruptionPoint.byteCount])
            callers[0].download.resume()
            await fixture.finish(callers[0].download, InterruptionPoint.object)
            #expect(fixture.transport.exchanges.map(\.offset) == [0, InterruptionPoint.byteCount])
            #expect(fixture.directory.names() == ["0.bin"])
        }
    }

    @Test(arguments: [true, false])
    func `a new request for a paused resource resumes it from its bytes`(_ isPrompt: Bool) async throws {
        try await LifecycleFixture.with { fixture async throws in
            let callers = try await callers(1, on: fixture)
            callers[0].download.pause()
            if !isPrompt { await fixture.endCancelled() }
            let again = fixture.downloader.start(try fixture.request(to: "again.bin"))
            #expect(again.isCoalesced)
            let events = again.events
            let listening = Task { await EventLog(events) }
            await fixture.finish(again, InterruptionPoint.object)
            #expect(await listening.value.resumptions == [InterruptionPoint.byteCount])
            #expect(fixture.transport.exchanges.map(\.offset) == [0, InterruptionPoint.byteCount])
            // The paused download does not delay the other one, and gets its file too.
            #expect(callers[0].download.state == .completed)
            #expect(fixture.directory.names() == ["0.bin", "again.bin"])
        }
    }

    @Test(arguments: [true, false])
    func `a pause is emitted to downloads that stay paused, even if another one resumes at once`(
        _ isNewDownload: Bool
    ) async throws {
        try await LifecycleFixture.with { fixture async throws in
            let callers = try await callers(2, on: fixture)
            let events = callers[0].download.events
            let listening = Task { await EventLog(events) }
            callers[1].download.pause()
            callers[0].download.pause()
            // The exchange has not ended yet, so the pause of both downloads is still in progress.
            if isNewDownload {
                fixture.downloader.start(try fixture.request(to: "new.bin"))
            } else {
                callers[1].download.resume()
            }
            #expect(callers[0].download.state == .paused)
            await fixture.finish(callers[0].download, InterruptionPoint.object)
            let pauses = await listening.value.events.filter { if case .paused = $0 { true } else { false } }
            #expect(pauses.count == 1)
        }
    }

    @Test(arguments: Detachment.allCases)
    func `a cancellation between the end of the transfer and its terminal event comes too late`(
        _ detachment: Detachment
    ) async throws {
        try await LifecycleFixture.with { fixture async throws in
            var request = try fixture.request()
            let deadline = Duration.seconds(9999)
            request.deadline = TimeLimit(deadline)
            let caller = await Caller(request, fixture.downloader)
            // The timer of the deadline is canceled last before an ended transfer emits its terminal event.
            fixture.time.whenCancelled { delay in
                guard delay == deadline else { return }
                switch detachment {
                case .cancel: caller.download.cancel()
                case .discard: caller.download.discard()
                case .cancelledTask: caller.awaiting.cancel()
                }
            }
            await fixture.finish(caller.download, InterruptionPoint.object)
            #expect(caller.download.state == .completed)
            #expect(await caller.awaiting.value?.code == (detachment == .cancelledTask ? .cancelled : nil))
            #expect(fixture.directory.names() == ["file.bin"])
            #expect(fixture.holds(InterruptionPoint.object.content))
        }
    }

    @Test(arguments: policies)
    func `shutdown overrides the abandonment policy and keeps every byte`(
        _ policy: AbandonmentPolicy
    ) async throws {
        try await LifecycleFixture.with(configure: { $0.abandonmentPolicy = policy }) { fixture async throws in
            let callers = try await callers(2, on: fixture)
            await callers[0].detach(.cancel)
            let shutting = Task { await fixture.downloader.shutdown() }
            let error = await callers[1].awaiting.value
            #expect(error?.code == .shutDown)
            #expect(error?.retainedByteCount == InterruptionPoint.byteCount)
            await fixture.waitUntilIdle()
            let isStopped = fixture.transport.open.allSatisfy(\.isCancelled)
            #expect(isStopped)
            fixture.transport.close()
            await shutting.value
            #expect(try fixture.keptCounts() == [InterruptionPoint.byteCount])
        }
    }
}
