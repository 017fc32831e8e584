import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Pausing and resuming wherever a download may stand (rules 54 to 56).
@Suite(.endsWhenHung(minutes: 12))
struct EveryMomentTests {
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
        [.pause], [.pauseAll], [.resume], [.resumeAll], [.pause, .resume], [.pauseAll, .resumeAll],
        [.pause, .pause, .resume, .resume], [.resume, .pause], [.pause, .resume, .pause],
        [.pauseAll, .resume, .pause, .resumeAll], [.pause, .resume, .pause, .resume, .pause, .resume],
    ]

    /// The one transfer at a time that moments are made for.
    private static func alone(_ configuration: inout Downloader.Configuration) {
        configuration.maximumConcurrentTransfers = 1
    }

    private func request(on stage: LifecycleStage) throws -> DownloadRequest {
        var request = try stage.request()
        request.checksum = Moment.object.content.sha256
        return request
    }

    /// What holds of every download that was paused and resumed at `moment`, and is over.
    private func check(_ log: EventLog, _ moment: Moment, on stage: LifecycleStage) {
        #expect(log.error == nil)
        #expect(log.file?.byteCount == Moment.object.content.length)
        #expect(log.restarts == [])
        #expect(log.faults == [])
        #expect(stage.holds(Moment.object.content))
        #expect(stage.directory.names(hiddenOnly: true).filter { $0.hasPrefix(".file.bin.") } == [])
        let offsets = stage.transport.exchanges(at: "/one").map(\.offset)
        #expect(offsets.dropFirst().allSatisfy { $0 == Moment.byteCount }, "asked again from \(offsets)")
        if moment.byteCount == Moment.object.content.length {
            #expect(offsets == [0], "rule 12: complete is complete")
        }
    }

    @Test(arguments: Moment.allCases, scripts)
    func `any commands in any order are obeyed at once`(_ moment: Moment, _ script: [Command]) async throws {
        // Where every byte is there, whoever resumes after a pause is done at once.
        for isSettling in moment == .lastByte ? [false] : [false, true] {
            try await LifecycleStage.with(configure: Self.alone) { stage async throws in
                let download = try await moment.reached(on: stage, try request(on: stage))
                let events = download.events
                let listening = Task { await EventLog(events) }
                #expect(download.state == moment.state)
                for command in script {
                    command.give(download, stage.downloader)
                    if moment.isTooLate {
                        #expect(download.state == .verifying)
                    } else {
                        #expect((download.state == .paused) == command.pauses, "\(download.state) after \(command)")
                        if isSettling { await stage.endCancelled() }
                    }
                    #expect(!download.state.isFinal)
                }
                if !moment.isTooLate, script.last?.pauses == true {
                    await stage.endCancelled()
                    #expect(download.state == .paused)
                    #expect(try stage.keptCounts().contains(moment.byteCount), "rule 54: a pause keeps every byte")
                    let running = stage.transport.open.filter { $0.path == "/one" }
                    #expect(running.isEmpty, "nothing is fetched in a pause")
                    stage.downloader.resumeAll()
                }
                stage.disk.reading.open()
                stage.disk.renaming.open()
                await stage.finish(download, Moment.object)
                #expect(download.state == .completed)
                check(await listening.value, moment, on: stage)
            }
        }
    }

    @Test(arguments: Moment.allCases)
    func `commands from several threads at once leave one file and one outcome`(_ moment: Moment) async throws {
        for seed in 0..<10 as Range<UInt64> {
            try await LifecycleStage.with(configure: Self.alone) { stage async throws in
                let download = try await moment.reached(on: stage, try request(on: stage))
                let events = download.events
                let listening = Task { await EventLog(events) }
                await withTaskGroup(of: Void.self) { group in
                    for thread in 0..<4 as Range<UInt64> {
                        group.addTask {
                            var random = SplitMix64(seed: seed << 8 | thread)
                            for _ in 0..<50 {
                                let commands: [Command] = [.pause, .resume, .pause, .resume, .pauseAll, .resumeAll]
                                commands.randomElement(using: &random)?.give(download, stage.downloader)
                            }
                        }
                    }
                    stage.disk.reading.open()
                    stage.disk.renaming.open()
                    // The engine goes on meanwhile, and answers whatever the commands have led to.
                    for _ in 0..<3 { await stage.step(Moment.object) }
                }
                stage.downloader.resumeAll()
                await stage.finish(download, Moment.object)
                #expect(download.state == .completed)
                check(await listening.value, moment, on: stage)
            }
        }
    }

    @Test(arguments: Moment.allCases.filter { !$0.isTooLate })
    func `a pause is told when its bytes are on disk, and the stream stays open`(_ moment: Moment) async throws {
        try await LifecycleStage.with(configure: Self.alone) { stage async throws in
            let download = try await moment.reached(on: stage, try request(on: stage))
            var events = download.events.makeAsyncIterator()
            download.pause()
            await stage.endCancelled()
            var event = try await events.next()
            while let told = event {
                if case .paused(let count) = told {
                    #expect(count == moment.byteCount)
                    #expect(try stage.keptCounts().contains(count))
                    break
                }
                event = try await events.next()
            }
            download.resume()
            await stage.finish(download, Moment.object)
            var last: DownloadEvent?
            while let told = try await events.next() { last = told }
            guard case .finished? = last else {
                Issue.record("the stream ended with \(String(describing: last))")
                return
            }
        }
    }

    @Test(arguments: Moment.allCases)
    func `the stream of states tells what the state is`(_ moment: Moment) async throws {
        try await LifecycleStage.with(configure: Self.alone) { stage async throws in
            let download = stage.downloader.start(try request(on: stage))
            var states = download.states.makeAsyncIterator()
            var seen: [Download.State] = []
            func wait(for state: Download.State) async {
                while seen.last != state, let next = await states.next() { seen.append(next) }
            }
            try await moment.reach(on: stage)
            await wait(for: moment.state)
            if !moment.isTooLate {
                download.pause()
                await wait(for: .paused)
                download.resume()
            }
            stage.disk.reading.open()
            stage.disk.renaming.open()
            await stage.finish(download, Moment.object)
            await wait(for: .completed)
            #expect(await states.next() == nil)
            #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 != $1 }, "\(seen)")
        }
    }

    @Test func `a state that no event tells is told by the stream of states`() async throws {
        try await LifecycleStage.with(configure: Self.alone) { stage async throws in
            let download = stage.downloader.start(try stage.request())
            var states = download.states.makeAsyncIterator()
            await stage.performEffects()
            #expect(await states.next() == .downloading)
            stage.transport.open.first?.end(.failed(DownloadError(.connectionLost)))
            #expect(await states.next() == .retrying)
            stage.downloader.start(try stage.request("/other", to: "other.bin"))
            await stage.performEffects()
            stage.time.advance(by: .seconds(60))
            #expect(await states.next() == .waiting)
            // The permit comes, and the server's answer does not.
            stage.transport.open.first?.refuse(404)
            #expect(await states.next() == .downloading)
            download.pause()
            #expect(await states.next() == .paused)
        }
    }
}
