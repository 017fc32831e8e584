internal import Dispatch
internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct SuspensionTests {
    /// A downloader whose app's life cycle a test controls, and a transport that a test advances.
    private struct Fixture {
        let lifecycle: ManualLifecycle
        let directory: TemporaryDirectory
        let transport = SteppedTransport()
        let downloader: Downloader

        init(limit: Int = 6, closingTime: DispatchTimeInterval = .never) throws {
            lifecycle = ManualLifecycle(closingTime: closingTime)
            directory = try TemporaryDirectory()
            // An exchange that is canceled ends at once.
            transport.close()
            let environment = BackgroundEnvironment(
                disk: POSIXFileSystem(), containers: FixedContainers(home: directory.path, groups: [:]),
                directory: ContainerPath(base: .home, relative: "journals"), time: ManualTimeSource(),
                lifecycle: lifecycle, makeDaemon: nil)
            var configuration = Downloader.Configuration()
            configuration.memoryPressure = .none
            configuration.maximumConcurrentTransfers = limit
            downloader = Downloader(
                configuration: configuration, transport: transport, store: PartialStore(durability: .processCrash),
                time: ManualTimeSource(), backgroundSessions: BackgroundSessions(environment))
        }

        func start(_ name: String) throws -> Download {
            let url = try #require(URL(string: "http://example.org/\(name)"))
            return downloader.start(
                DownloadRequest(from: url, to: URL(fileURLWithPath: "\(directory.path)/\(name)")))
        }
    }

    @Test func `an activity exists while transfers do`() async throws {
        let fixture = try Fixture()
        #expect(fixture.lifecycle.activityCount == 0)
        let downloads = [try fixture.start("a"), try fixture.start("b")]
        #expect(fixture.lifecycle.activityCount == 1)
        downloads[0].cancel()
        _ = await downloads[0].failure
        #expect(fixture.lifecycle.activityCount == 1)
        await fixture.downloader.shutdown()
        #expect(fixture.lifecycle.activityCount == 0)
        _ = downloads
    }

    @Test func `before a suspension, downloads are paused and hold no lock; afterwards they continue`() async throws {
        let fixture = try Fixture()
        let running = try fixture.start("a")
        let paused = try fixture.start("b")
        paused.pause()
        while fixture.transport.exchanges(at: "/a").isEmpty { await Task.yield() }
        #expect(try !POSIXFileSystem.canLockAll(in: fixture.directory.path), "a running transfer holds its lock")
        fixture.lifecycle.expire()
        #expect(running.state == .paused && paused.state == .paused)
        #expect(try POSIXFileSystem.canLockAll(in: fixture.directory.path))
        fixture.lifecycle.enterForeground()
        #expect(running.state != .paused)
        #expect(paused.state == .paused, "the caller has paused it")
        #expect(fixture.lifecycle.activityCount == 1)
        await fixture.downloader.shutdown()
    }

    @Test func `a file that isn't closed in time doesn't hold up a suspension`() async throws {
        let fixture = try Fixture(closingTime: .milliseconds(1))
        let download = try fixture.start("a")
        while fixture.transport.exchanges(at: "/a").isEmpty { await Task.yield() }
        let transfer = try #require(fixture.downloader.liveTransfers.first).activate()
        transfer.queue.suspend()
        fixture.lifecycle.expire()
        #expect(try !POSIXFileSystem.canLockAll(in: fixture.directory.path))
        transfer.queue.resume()
        while try !POSIXFileSystem.canLockAll(in: fixture.directory.path) { await Task.yield() }
        #expect(download.state == .paused)
        await fixture.downloader.shutdown()
    }

    @Test(arguments: [true, false])
    func `life of an app 1: a resumed download has an activity`(isQueued: Bool) async throws {
        let fixture = try Fixture(limit: 1)
        let running = try fixture.start("a")
        let download = isQueued ? try fixture.start("b") : running
        while fixture.transport.exchanges(at: "/a").isEmpty { await Task.yield() }
        download.pause()
        fixture.lifecycle.expire()
        #expect(fixture.lifecycle.activityCount == 0)
        download.resume()
        #expect(fixture.lifecycle.activityCount == 1)
        await fixture.downloader.shutdown()
        #expect(fixture.lifecycle.activityCount == 0)
        _ = running
    }

    @Test func `life of an app 1: an activity that expires while it begins is not kept`() async throws {
        let fixture = try Fixture()
        fixture.lifecycle.expiresAtOnce = true
        let first = try fixture.start("a")
        #expect(fixture.lifecycle.activityCount == 0)
        fixture.lifecycle.expiresAtOnce = false
        let second = try fixture.start("b")
        #expect(fixture.lifecycle.activityCount == 1)
        await fixture.downloader.shutdown()
        #expect(fixture.lifecycle.activityCount == 0)
        _ = (first, second)
    }

    @Test func `after a suspension, the downloads that ran continue before those that waited`() async throws {
        let fixture = try Fixture(limit: 1)
        let downloads = [try fixture.start("a"), try fixture.start("b")]
        while fixture.transport.exchanges(at: "/a").isEmpty { await Task.yield() }
        fixture.lifecycle.expire()
        #expect(downloads.allSatisfy { $0.state == .paused })
        fixture.lifecycle.enterForeground()
        while fixture.transport.exchanges(at: "/a").count < 2 { await Task.yield() }
        #expect(fixture.transport.exchanges(at: "/b").isEmpty)
        await fixture.downloader.shutdown()
    }
}

extension POSIXFileSystem {
    /// Returns whether no other open file holds a lock in the directory.
    fileprivate static func canLockAll(in directory: String) throws -> Bool {
        let disk = POSIXFileSystem()
        return try disk.names(in: directory).filter { $0.hasSuffix(".lock") }.allSatisfy { name in
            let file: OpenFile
            do throws(FileFailure) {
                file = try disk.open("\(directory)/\(name)", .existing)
            } catch {
                // A file that is removed in the meantime isn't locked.
                guard error.kind == .missing else { throw error }
                return true
            }
            defer { disk.close(file) }
            // A process that another test starts may inherit the descriptor, and with it the lock.
            defer { disk.unlock(file) }
            return try disk.lock(file)
        }
    }
}
