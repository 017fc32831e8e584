import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Pauses and resumptions at each point of a download (rules 54 to 56).
@Suite(.endsWhenHung(minutes: 12))
struct InterruptionPointTests {
    enum Command: String, Sendable {
        case pause, resume, pauseAll, resumeAll

        var pauses: Bool { self == .pause || self == .pauseAll }

        func give(_ download: Download, _ downloader: Downloader) {
            switch self {
            case .pause: download.pause()
            case .resume: download.resume()
            case .pauseAll: downloader.pauseAll()
            case .resumeAll: downloader.resumeAll()
            }
        }
    }

    static let scripts: [[Command]] = [
        [.resume, .pause], [.pause, .pause, .resume, .resume], [.pause, .resume, .pause],
        [.pauseAll, .resume, .pause, .resumeAll], [.pause, .resume, .pause, .resume, .pause, .resume],
    ]

    /// Limits the downloader to one transfer at a time, as ``InterruptionPoint`` requires.
    private static func alone(_ configuration: inout Downloader.Configuration) {
        configuration.maximumConcurrentTransfers = 1
    }

    private func request(on fixture: LifecycleFixture) throws -> DownloadRequest {
        var request = try fixture.request()
        request.checksum = InterruptionPoint.object.content.sha256
        return request
    }

    /// Checks the end of a download that was paused and resumed at `point`.
    private func check(_ log: EventLog, _ point: InterruptionPoint, on fixture: LifecycleFixture) {
        #expect(log.error == nil)
        #expect(log.file?.byteCount == InterruptionPoint.object.content.length)
        #expect(log.restarts == [])
        #expect(log.faults == [])
        #expect(fixture.holds(InterruptionPoint.object.content))
        #expect(fixture.directory.names(hiddenOnly: true).filter { $0.hasPrefix(".file.bin.") } == [])
        let offsets = fixture.transport.exchanges(at: "/one").map(\.offset)
        #expect(offsets.dropFirst().allSatisfy { $0 == InterruptionPoint.byteCount }, "requested from \(offsets)")
        if point.byteCount == InterruptionPoint.object.content.length {
            #expect(offsets == [0], "rule 12: a complete file is not requested again")
        }
    }

    @Test(arguments: InterruptionPoint.allCases, scripts)
    func `commands take effect immediately in any order`(_ point: InterruptionPoint, _ script: [Command]) async throws {
        // If every byte has been received, a download that resumes after a pause completes at once.
        for isSettling in point == .lastByte ? [false] : [false, true] {
            try await LifecycleFixture.with(configure: Self.alone) { fixture async throws in
                let download = try await point.reached(on: fixture, try request(on: fixture))
                let events = download.events
                let listening = Task { await EventLog(events) }
                #expect(download.state == point.state)
                for command in script {
                    command.give(download, fixture.downloader)
                    if point.isTooLate {
                        #expect(download.state == .verifying)
                    } else {
                        // The bytes that were received are stored first.
                        let isPaused = download.state == .paused
                        let isStopping = command.pauses && download.state == .downloading
                        #expect(isPaused == command.pauses || isStopping, "\(download.state) after \(command)")
                        if isSettling {
                            await fixture.endCancelled()
                            #expect((download.state == .paused) == command.pauses, "\(download.state) after \(command)")
                        }
                    }
                    #expect(!download.state.isFinal)
                }
                if !point.isTooLate, script.last?.pauses == true {
                    await fixture.endCancelled()
                    #expect(download.state == .paused)
                    #expect(try fixture.keptCounts().contains(point.byteCount), "rule 54: a pause keeps every byte")
                    let running = fixture.transport.open.filter { $0.path == "/one" }
                    #expect(running.isEmpty, "nothing is fetched during a pause")
                    fixture.downloader.resumeAll()
                }
                fixture.disk.reading.open()
                fixture.disk.renaming.open()
                await fixture.finish(download, InterruptionPoint.object)
                #expect(download.state == .completed)
                check(await listening.value, point, on: fixture)
            }
        }
    }

    @Test(arguments: InterruptionPoint.allCases)
    func `concurrent commands from several threads result in one file and one outcome`(
        _ point: InterruptionPoint
    ) async throws {
        for seed in Seeds.first(4) {
            try await LifecycleFixture.with(configure: Self.alone) { fixture async throws in
                let download = try await point.reached(on: fixture, try request(on: fixture))
                let events = download.events
                let listening = Task { await EventLog(events) }
                await withTaskGroup(of: Void.self) { group in
                    for thread in 0..<4 as Range<UInt64> {
                        group.addTask {
                            var random = SplitMix64(seed: seed << 8 | thread)
                            for _ in 0..<50 {
                                let commands: [Command] = [.pause, .resume, .pause, .resume, .pauseAll, .resumeAll]
                                commands.randomElement(using: &random)?.give(download, fixture.downloader)
                            }
                        }
                    }
                    fixture.disk.reading.open()
                    fixture.disk.renaming.open()
                    // Meanwhile, the engine responds to the exchanges that the commands have started.
                    for _ in 0..<3 { await fixture.step(InterruptionPoint.object) }
                }
                fixture.downloader.resumeAll()
                await fixture.finish(download, InterruptionPoint.object)
                #expect(download.state == .completed)
                check(await listening.value, point, on: fixture)
            }
        }
    }

    @Test(arguments: InterruptionPoint.allCases.filter { !$0.isTooLate })
    func `a pause is emitted when its bytes are on disk, and the stream stays open`(
        _ point: InterruptionPoint
    ) async throws {
        try await LifecycleFixture.with(configure: Self.alone) { fixture async throws in
            let download = try await point.reached(on: fixture, try request(on: fixture))
            var events = download.events.makeAsyncIterator()
            download.pause()
            await fixture.endCancelled()
            var event = try await events.next()
            while let emitted = event {
                if case .paused(let count) = emitted {
                    #expect(count == point.byteCount)
                    #expect(try fixture.keptCounts().contains(count))
                    break
                }
                event = try await events.next()
            }
            download.resume()
            await fixture.finish(download, InterruptionPoint.object)
            var last: DownloadEvent?
            while let emitted = try await events.next() { last = emitted }
            guard case .finished? = last else {
                Issue.record("the stream ended with \(String(describing: last))")
                return
            }
        }
    }

    @Test(arguments: InterruptionPoint.allCases)
    func `the state stream emits the current state`(_ point: InterruptionPoint) async throws {
        try await LifecycleFixture.with(configure: Self.alone) { fixture async throws in
            let download = fixture.downloader.start(try request(on: fixture))
            var states = download.states.makeAsyncIterator()
            var seen: [Download.State] = []
            try await point.reach(on: fixture)
            while seen.last != point.state, let next = await states.next() { seen.append(next) }
            if !point.isTooLate {
                download.pause()
                await fixture.endCancelled()
                while seen.last != .paused, let next = await states.next() { seen.append(next) }
                download.resume()
            }
            fixture.disk.reading.open()
            fixture.disk.renaming.open()
            await fixture.finish(download, InterruptionPoint.object)
            while seen.last != .completed, let next = await states.next() { seen.append(next) }
            #expect(await states.next() == nil)
            #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 != $1 }, "\(seen)")
        }
    }

    @Test func `the state stream emits states that no event reports`() async throws {
        try await LifecycleFixture.with(configure: Self.alone) { fixture async throws in
            let download = fixture.downloader.start(try fixture.request())
            var states = download.states.makeAsyncIterator()
            await fixture.waitUntilIdle()
            #expect(await states.next() == .downloading)
            fixture.transport.open.first?.end(.failed(DownloadError(.connectionLost)))
            #expect(await states.next() == .retrying)
            fixture.downloader.start(try fixture.request("/other", to: "other.bin"))
            await fixture.waitUntilIdle()
            fixture.time.advance(by: .seconds(60))
            #expect(await states.next() == .waiting)
            // The permit is granted, and the server does not respond.
            fixture.transport.open.first?.refuse(404)
            #expect(await states.next() == .downloading)
            download.pause()
            #expect(await states.next() == .paused)
        }
    }
}
