import AsyncDownloads
import TestSupport
import Testing

/// Actions of the system's clock.
@Suite(.endsWhenHung) struct SystemTimeSourceTests {
    @Test func `an action comes once its time has come, also where nobody holds it`() async {
        await withCheckedContinuation { continuation in
            _ = SystemTimeSource().schedule(after: .milliseconds(1)) { continuation.resume() }
        }
    }

    @Test func `a cancelled action never comes`() async {
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

    @Test func `a cancelled action leaves nothing behind until its time has come`() async {
        let remains = Remains()
        do {
            let action = SystemTimeSource().schedule(after: .seconds(3600)) {}
            remains.timer = action as AnyObject
            action.cancel()
        }
        // Dispatch frees it soon; where it does not, the suite's trait ends the wait.
        while remains.timer != nil, !Task.isCancelled { await Task.yield() }
    }
}

private final class Remains {
    weak var timer: AnyObject?
}
