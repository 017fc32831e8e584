internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The meter that limits progress events and measures the speed (rule 57).
@Suite(.endsWhenHung)
struct ProgressMeterTests {
    private func meter(_ interval: Duration = .milliseconds(100)) -> ProgressMeter { ProgressMeter(interval: interval) }

    /// Adds `bytes` each tenth of a second for some seconds, and returns the speeds that were emitted.
    private func feed(
        _ meter: inout ProgressMeter, bytes: Int, from start: Duration, seconds: Int
    ) -> [Double] {
        var speeds: [Double] = []
        for tenth in 1...seconds * 10 {
            if bytes > 0 { meter.add(bytes) }
            if meter.shouldEmit(at: start + .milliseconds(100 * tenth)) {
                speeds.append(meter.progress(received: 0, expected: nil).bytesPerSecond ?? -1)
            }
        }
        return speeds
    }

    @Test
    func `rule 57: progress is emitted once in each interval in which bytes arrived`() {
        var meter = meter()
        #expect(meter.shouldEmit(at: .zero) == false)
        meter.add(1)
        #expect(meter.shouldEmit(at: .zero) == true)
        #expect(meter.shouldEmit(at: .milliseconds(500)) == false)
        meter.add(1)
        #expect(meter.shouldEmit(at: .milliseconds(500)) == true)
        meter.add(1)
        #expect(meter.shouldEmit(at: .milliseconds(599)) == false)
        #expect(meter.shouldEmit(at: .milliseconds(600)) == true)
    }

    @Test
    func `rule 57: a thousand parts in a second are ten events`() {
        var meter = meter()
        var emitted = 0
        for millisecond in 0..<1000 {
            meter.add(1)
            if meter.shouldEmit(at: .milliseconds(millisecond)) { emitted += 1 }
        }
        #expect(emitted == 10)
        #expect(meter.fetched == 1000)
    }

    @Test
    func `a steady stream has a constant speed from the start`() {
        var meter = meter()
        meter.start(at: .zero)
        let speeds = feed(&meter, bytes: 100, from: .zero, seconds: 3)
        #expect(speeds.count == 30)
        #expect(speeds.allSatisfy { abs($0 - 1000) < 0.001 })
    }

    @Test
    func `the speed follows a change within seconds, but not at once`() throws {
        var meter = meter()
        meter.start(at: .zero)
        _ = feed(&meter, bytes: 100, from: .zero, seconds: 3)
        let speeds = feed(&meter, bytes: 200, from: .seconds(3), seconds: 10)
        #expect(try #require(speeds.first) < 1100)
        #expect(speeds == speeds.sorted())
        #expect(abs(try #require(speeds.last) - 2000) < 100)
    }

    @Test
    func `during a stall, the speed falls to zero and the remaining time rises`() throws {
        var meter = meter()
        meter.start(at: .zero)
        _ = feed(&meter, bytes: 100, from: .zero, seconds: 3)
        let speeds = feed(&meter, bytes: 0, from: .seconds(3), seconds: 30)
        #expect(speeds.count == 300)
        #expect(speeds == speeds.sorted(by: >))
        #expect(try #require(speeds.last) < 1)
        #expect(meter.progress(received: 1, expected: 2).timeRemaining == nil)
    }

    @Test
    func `the time between two exchanges is not measured`() throws {
        var meter = meter()
        meter.start(at: .zero)
        _ = feed(&meter, bytes: 100, from: .zero, seconds: 3)
        meter.stop()
        #expect(meter.progress(received: 0, expected: nil).bytesPerSecond == nil)
        meter.start(at: .seconds(60))
        let speeds = feed(&meter, bytes: 100, from: .seconds(60), seconds: 1)
        #expect(speeds.allSatisfy { abs($0 - 1000) < 0.001 })
        #expect(meter.fetched == 4000)
    }

    @Test
    func `bytes that arrive in a single burst do not yield a speed`() {
        var meter = meter(.zero)
        meter.start(at: .zero)
        for millisecond in 1..<50 {
            meter.add(1_000_000)
            #expect(meter.shouldEmit(at: .milliseconds(millisecond)) == true)
            #expect(meter.progress(received: 0, expected: nil).bytesPerSecond == nil)
        }
    }

    @Test
    func `the remaining time is known if length and speed are known`() {
        var meter = meter()
        #expect(meter.progress(received: 0, expected: 100).timeRemaining == nil)
        meter.start(at: .zero)
        _ = feed(&meter, bytes: 100, from: .zero, seconds: 1)
        #expect(meter.progress(received: 1000, expected: 5000).timeRemaining?.components.seconds == 4)
        #expect(meter.progress(received: 1000, expected: nil).timeRemaining == nil)
        #expect(meter.progress(received: 1000, expected: 999).timeRemaining == nil)
        #expect(meter.progress(received: 1000, expected: 1000).timeRemaining == .zero)
    }
}
