internal import Dispatch
internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// A record of syncs, each of which can be blocked or fail.
final class SyncLog: Sendable {
    private struct State {
        var fileNames: [String] = []
        var directoryCount = 0
        var blockedName: String?
        var hasBlocked = false
        var failures: [String: Int] = [:]
        var failingDirectorySync: (number: Int, kind: FileFailure.Kind)?
        /// A closure that is called before the sync after the failing one.
        var beforeNext: @Sendable () -> Void = {}
    }

    private let state = Mutex(State())
    private let mayContinue = DispatchSemaphore(value: 0)

    /// The names of the files whose syncs have begun.
    var fileNames: [String] { state.withLock { $0.fileNames } }

    /// The number of syncs of the directory.
    var directoryCount: Int { state.withLock { $0.directoryCount } }

    /// Blocks the sync of the file until ``unblock()`` is called.
    func block(_ name: String) { state.withLock { $0.blockedName = name } }

    func unblock() { mayContinue.signal() }

    func isBlocked() async {
        while !state.withLock({ $0.hasBlocked }) { await Task.yield() }
    }

    func fail(_ name: String, times: Int) { state.withLock { $0.failures[name] = times } }

    /// Makes the directory's sync with this number fail, counted from 1.
    func failDirectory(
        sync number: Int, _ kind: FileFailure.Kind = .other, beforeNext: @escaping @Sendable () -> Void = {}
    ) {
        state.withLock { ($0.failingDirectorySync, $0.beforeNext) = ((number, kind), beforeNext) }
    }

    func syncs(file name: String) -> FileFailure.Kind? {
        let (isBlocked, fails) = state.withLock { state in
            state.fileNames.append(name)
            let isBlocked = state.blockedName == name
            if isBlocked { (state.blockedName, state.hasBlocked) = (nil, true) }
            let count = state.failures[name] ?? 0
            if count > 0 { state.failures[name] = count - 1 }
            return (isBlocked, count > 0)
        }
        if isBlocked { mayContinue.wait() }
        return fails ? .other : nil
    }

    func syncsDirectory() -> FileFailure.Kind? {
        let (kind, before) = state.withLock { state in
            state.directoryCount += 1
            let number = state.directoryCount
            let failing = state.failingDirectorySync
            return (
                failing?.number == number ? failing?.kind : nil, failing?.number == number - 1 ? state.beforeNext : {}
            )
        }
        before()
        return kind
    }
}
