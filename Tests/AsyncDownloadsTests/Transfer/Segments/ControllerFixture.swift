@testable import AsyncDownloads

/// A controller whose connections are those that it asks for, on a network whose rate depends on their number.
struct ControllerFixture {
    var controller: ConnectionController
    var now = Duration.zero
    var sample = ConnectionController.Sample(
        byteCount: 0, segmentCount: 1, remainingCount: 100_000_000_000, setup: .milliseconds(20),
        bound: 16)
    /// The maximum number of connections that get a segment.
    var largestCount = Int.max
    /// The numbers that were decided, without repetitions.
    private(set) var numbers: [Int] = []

    init(_ mode: ConnectionController.Mode = .automatic(maximum: 16), effectiveCount: Int = 1) {
        controller = ConnectionController(mode, effectiveCount: effectiveCount, at: .zero)
        numbers = [controller.number]
    }

    /// Runs for a time in which `rate` and `others` return the megabytes per second of this transfer and of the others
    /// with a number of connections of this one.
    mutating func run(
        _ seconds: Double, others: (_ count: Int, _ time: Double) -> Double = { _, _ in 0 },
        rate: (_ count: Int, _ time: Double) -> Double
    ) {
        let end = now + .seconds(seconds)
        while now < end {
            // A connection receives from the sample after its request on.
            sample.segmentCount = min(controller.number, largestCount)
            let interval = controller.sampleInterval(setup: sample.setup, at: now)
            now += interval
            let megabytes = interval / .seconds(1) * 1e6
            sample.byteCount = Int64(rate(sample.segmentCount, now / .seconds(1)) * megabytes)
            sample.otherByteCount = Int64(others(sample.segmentCount, now / .seconds(1)) * megabytes)
            let number = controller.measure(sample, at: now)
            if number != numbers.last { numbers.append(number) }
        }
    }

    /// Runs at 10 megabytes per second, regardless of the number, until a step begins.
    mutating func runUntilStep() {
        while !controller.isTrying { run(0.001) { _, _ in 10 } }
    }
}
