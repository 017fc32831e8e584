internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Tasks of a URL session that wait for a network connection, which only Apple platforms report.
@Suite(.endsWhenHung)
struct SessionConnectivityTests {
    /// A network that a test controls, and that counts its observers.
    private final class Network: PathMonitor {
        private struct Watch: ScheduledAction {
            let network: Network

            func cancel() { network.state.withLock { $0.body = nil } }
        }

        private struct State {
            var body: (@Sendable (NetworkPath) -> Void)?
            var watchCount = 0
        }

        private let state = Mutex(State())

        var isWatched: Bool { state.withLock { $0.body != nil } }
        var watchCount: Int { state.withLock(\.watchCount) }

        var path: NetworkPath {
            var path = NetworkPath()
            path.isSatisfied = false
            return path
        }

        func refresh() {}

        func observe(_ body: @escaping @Sendable (NetworkPath) -> Void) -> any ScheduledAction {
            state.withLock { state in
                state.body = body
                state.watchCount += 1
            }
            body(path)
            return Watch(network: self)
        }

        func connect() { state.withLock(\.body)?(NetworkPath()) }
    }

    private final class Recorder: ExchangeHandler {
        let reports = Mutex<[Bool]>([])

        func exchangeWaits(forConnectivity isWaiting: Bool) { reports.withLock { $0.append(isWaiting) } }
        func exchangeReceivedHead(_ head: ResponseHead) -> Readiness { .ready }
        func exchangeReceivedBytes(_ bytes: UnsafeRawBufferPointer) -> Readiness { .ready }
        func exchangeEnded(_ end: ExchangeEnd) {}

        var all: [Bool] { reports.withLock { $0 } }
    }

    private struct Fixture {
        let network = Network()
        let session: URLSession
        let delegate: SessionDelegate

        init() {
            delegate = SessionDelegate(network: network)
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 1
            session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: queue)
        }

        /// Creates a task that is never started.
        func task(_ handler: Recorder) throws -> URLSessionTask {
            let url = try #require(URL(string: "http://127.0.0.1:1/"))
            return try #require(delegate.makeTask({ session.dataTask(with: url) }, handler: handler))
        }

        /// Waits until the delegate's queue has performed everything before.
        func settle() async {
            await withCheckedContinuation { continuation in
                session.delegateQueue.addOperation { continuation.resume() }
            }
        }
    }

    @Test func `life of an app 2: all waiting tasks continue when the network returns`() async throws {
        let fixture = Fixture()
        let recorders = [Recorder(), Recorder(), Recorder()]
        let tasks = try recorders.map(fixture.task)
        for task in tasks[..<2] { fixture.delegate.taskWaits(task, in: fixture.session) }
        #expect(recorders.map(\.all) == [[true], [true], []])
        #expect(fixture.network.watchCount == 1, "one watch serves all tasks")
        fixture.network.connect()
        await fixture.settle()
        #expect(recorders.map(\.all) == [[true, false], [true, false], []])
        #expect(!fixture.network.isWatched)
        fixture.network.connect()
        await fixture.settle()
        #expect(recorders.map(\.all) == [[true, false], [true, false], []])
        // The connection is lost again.
        fixture.delegate.taskWaits(tasks[2], in: fixture.session)
        #expect(fixture.network.isWatched && fixture.network.watchCount == 2)
        fixture.delegate.close(fixture.session)
    }

    @Test func `a task that has ended is not reported`() async throws {
        let fixture = Fixture()
        let recorder = Recorder()
        let task = try fixture.task(recorder)
        fixture.delegate.taskWaits(task, in: fixture.session)
        fixture.delegate.urlSession(fixture.session, task: task, didCompleteWithError: nil)
        fixture.network.connect()
        await fixture.settle()
        #expect(recorder.all == [true])
        fixture.delegate.taskWaits(task, in: fixture.session)
        #expect(recorder.all == [true])
        fixture.delegate.close(fixture.session)
    }
}
