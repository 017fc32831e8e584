import AsyncDownloads
import TestSupport
import Testing

/// Tests of actions on the system's clock.
@Suite(.endsWhenHung) struct SystemTimeSourceTests {
    @Test func `an action runs after its delay, even if it was not retained`() async {
        await withCheckedContinuation { continuation in
            _ = SystemTimeSource().schedule(after: .milliseconds(1)) { continuation.resume() }
        }
    }

    @Test func `a canceled action never runs`() async {
        let time = SystemTimeSource()
        let count = Mutex(0)
        for _ in 0..<100 {
            time.schedule(after: .zero) { count.withLock { $0 += 1 } }.cancel()
        }
        let before = count.withLock { $0 }
        await withCheckedContinuation { continuation in
            _ = time.schedule(after: .milliseconds(1)) { continuation.resume() }
        }
        #expect(count.withLock { $0 } == before)
    }

    @Test func `a canceled action is released before its delay`() async {
        let remains = Remains()
        do {
            let action = SystemTimeSource().schedule(after: .seconds(3600)) {}
            remains.timer = action as AnyObject
            action.cancel()
        }
        // Dispatch releases the timer soon; otherwise the suite's trait ends the wait.
        while remains.timer != nil, !Task.isCancelled { await Task.yield() }
    }
}

private final class Remains {
    weak var timer: AnyObject?
}
