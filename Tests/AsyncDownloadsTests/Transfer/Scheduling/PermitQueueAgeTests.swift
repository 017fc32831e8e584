internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Grants by age instead of priority, so that no request starves (rule 58).
@Suite(.endsWhenHung)
struct PermitQueueAgeTests {
    @Test
    func `every eighth grant goes to the oldest request, regardless of its priority`() {
        var queue = PermitQueue(limit: 1, limitPerHost: 1)
        let low = (0..<4).map { _ in queue.enqueue(host: "a", priority: .low) }
        let high = (0..<20).map { _ in queue.enqueue(host: "b", priority: .high) }
        let order = [high[0..<7], low[0..<1], high[7..<14], low[1..<2], high[14..<20], low[2..<4]].flatMap { $0 }
        #expect(queue.runEach() == order)
    }

    @Test
    func `the oldest request whose host is below its limit is granted`() {
        var queue = PermitQueue(limit: 2, limitPerHost: 1)
        let holder = queue.enqueue(host: "full", priority: .high)
        #expect(queue.grant() == [holder])
        let blocked = queue.enqueue(host: "full", priority: .low)
        let low = queue.enqueue(host: "a", priority: .low)
        let high = (0..<9).map { _ in queue.enqueue(host: "b", priority: .high) }
        // The first grant went to the holder.
        #expect((0..<8).map { _ in queue.runOne() } == high[0..<6] + [low] + high[6..<7])
        queue.release(holder)
        #expect(queue.grant() == [high[7], blocked])
    }

    @Test(arguments: [1, 99])
    func `an urgent request is among the next two grants, regardless of the queue's length`(hostCount: Int) {
        var queue = PermitQueue(limit: 1, limitPerHost: 1)
        for number in 0..<10_000 { _ = queue.enqueue(host: "\(number % hostCount)", priority: .low) }
        for number in 0..<100 {
            let urgent = queue.enqueue(host: "\(number * 7 % hostCount)", priority: .high)
            #expect([queue.runOne(), queue.runOne()].contains(urgent), "request \(number)")
            for _ in 0..<number % 10 { _ = queue.runOne() }
        }
    }

    @Test
    func `two successive grants never go by age`() {
        var queue = PermitQueue(limit: 1, limitPerHost: 1)
        let oldest = queue.enqueue(host: "a", priority: .low)
        let oldestAtHost = queue.enqueue(host: "b", priority: .low)
        let high = (0..<10).map { _ in queue.enqueue(host: "b", priority: .high) }
        #expect(queue.runEach() == high[0..<7] + [oldest, high[7], oldestAtHost] + high[8..<10])
    }

    @Test
    func `a stream of urgent requests does not starve the others`() {
        var queue = PermitQueue(limit: 1, limitPerHost: 1)
        let patient = queue.enqueue(host: "a", priority: .low)
        let grants = (0..<8).map { _ in
            _ = queue.enqueue(host: "a", priority: .high)
            return queue.runOne()
        }
        #expect(grants.firstIndex(of: patient) == 7)
    }

    @Test(arguments: 2...9)
    func `urgent requests at hosts that become free in turn do not starve the others`(hostCount: Int) {
        var queue = PermitQueue(limit: hostCount, limitPerHost: 1)
        var running: [PermitQueue.Ticket] = []
        for host in 0..<hostCount { _ = queue.enqueue(host: "\(host)", priority: .high) }
        running = queue.grant()
        var patient = Set((0..<hostCount).map { queue.enqueue(host: "\($0)", priority: .low) })
        for round in 0..<40 * hostCount {
            _ = queue.enqueue(host: "\(round % hostCount)", priority: .high)
            queue.release(running.removeFirst())
            let granted = queue.grant()
            #expect(granted.count == 1)
            running += granted
            patient.subtract(granted)
        }
        #expect(patient.isEmpty)
    }

}
