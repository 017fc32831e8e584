import AsyncDownloads
import Dispatch
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
        let isCanceled = DispatchSemaphore(value: 0)
        // Blocks the thread of the time source, which could have begun an action before it is canceled.
        await withCheckedContinuation { continuation in
            _ = time.schedule(after: .zero) {
                continuation.resume()
                isCanceled.wait()
            }
        }
        for _ in 0..<100 {
            time.schedule(after: .zero) { count.withLock { $0 += 1 } }.cancel()
        }
        await withCheckedContinuation { continuation in
            _ = time.schedule(after: .milliseconds(1)) { continuation.resume() }
            isCanceled.signal()
        }
        #expect(count.withLock { $0 } == 0)
    }

    @Test func `what a canceled action holds is released before its delay`() {
        weak var held: Remains?
        do {
            let remains = Remains()
            held = remains
            SystemTimeSource().schedule(after: .seconds(3600)) { withExtendedLifetime(remains) {} }.cancel()
        }
        #expect(held == nil)
    }

    @Test func `an action runs in time behind a canceled one and before later ones`() async {
        let time = SystemTimeSource()
        let later = time.schedule(after: .seconds(3600)) {}
        time.schedule(after: .milliseconds(1)) {}.cancel()
        for _ in 0..<3 {
            await withCheckedContinuation { continuation in
                _ = time.schedule(after: .milliseconds(1)) { continuation.resume() }
            }
        }
        later.cancel()
    }

    @Test func `an action that an earlier one cancels does not run`() async {
        let time = SystemTimeSource()
        let second = Mutex<(any ScheduledAction)?>(nil)
        let count = Mutex(0)
        await withCheckedContinuation { continuation in
            let isScheduled = DispatchSemaphore(value: 0)
            // Blocks the thread of the time source until all of them are due.
            _ = time.schedule(after: .zero) { isScheduled.wait() }
            _ = time.schedule(after: .microseconds(1)) { second.withLock { $0 }?.cancel() }
            let action = time.schedule(after: .microseconds(2)) { count.withLock { $0 += 1 } }
            second.withLock { $0 = action }
            _ = time.schedule(after: .microseconds(3)) { continuation.resume() }
            isScheduled.signal()
        }
        #expect(count.withLock { $0 } == 0)
    }
}

private final class Remains: Sendable {}
