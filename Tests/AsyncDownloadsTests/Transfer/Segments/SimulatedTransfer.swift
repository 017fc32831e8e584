@testable import AsyncDownloads

/// A transfer of one file over a simulated network, in virtual time, with the plan and the controller of the package.
struct SimulatedTransfer {
    fileprivate struct Connection {
        let number: Int
        let acceptedAt: Double
        /// The fraction of a byte that was received.
        var remainder = 0.0
        /// The number of bytes that a server which counts whole seconds has sent.
        var sentCount = 0.0
        /// The time before which such a server sends no more.
        var nextPart = 0.0
    }

    /// The length of a step, in seconds.
    private let step: Double
    private let network: SimulatedNetwork
    private var table = ExchangeTable()
    private(set) var controller: ConnectionController
    private let length: Int64
    private var received = IntervalSet()
    /// The duration of the transfer, in seconds.
    private(set) var time = 0.0
    private var connections: [ExchangeID: Connection] = [:]
    private var flow = ByteFlow()
    private var lastExchange = 0
    /// The time at which the next sample is due.
    private var nextSample = 0.025
    /// The bytes that this transfer and all transfers had received at the last sample.
    private var sampled = (own: Int64(0), all: Int64(0))
    /// The maximum number of connections that had a segment at the same time.
    private(set) var largestCount = 0
    private let isFixed: Bool
    private var random: SplitMix64

    init(_ network: SimulatedNetwork, _ mode: ConnectionController.Mode, effectiveCount: Int = 1) {
        self.network = network
        random = SplitMix64(seed: network.seed)
        step = network.fileTime < 10 ? 0.005 : 0.0625
        controller = ConnectionController(mode, effectiveCount: effectiveCount, at: .zero)
        length = Int64(network.bestRate * network.fileTime * 1e6)
        if case .fixed = mode { isFixed = true } else { isFixed = false }
        request(0..<length)
    }

    private var now: Duration { .seconds(time) }

    /// Returns a transfer that has received its file.
    static func finished(
        _ network: SimulatedNetwork, _ mode: ConnectionController.Mode, effectiveCount: Int = 1
    ) -> Self {
        var transfer = Self(network, mode, effectiveCount: effectiveCount)
        while !transfer.isComplete, transfer.time < 3600 {
            transfer.beginStep()
            let rates = transfer.rates
            transfer.receive(rates, factor: network.factor(rates))
            transfer.endStep()
        }
        return transfer
    }

    /// Whether the whole file is received.
    var isComplete: Bool { received.isComplete(below: length) }

    /// The number of connections that have a segment.
    var count: Int { table.segments.count }

    /// The report of the transfer to the coordinator of the downloader.
    func report(_ origin: Origin) -> ConnectionReport {
        ConnectionReport(
            origin: origin, number: controller.number, acceptedCount: controller.number, isFixed: isFixed,
            isTrying: controller.isTrying)
    }

    /// Begins a step of the time, in which connections of the other transfers have `otherCount` segments.
    mutating func beginStep(otherCount: Int = 0) {
        time += step
        acceptHeads(otherCount: otherCount)
    }

    /// Ends a step, after the bytes have arrived; samples the rate if the time has come.
    ///
    /// - Parameter budget: Returns what the downloader permits; it counts the bytes since the start.
    mutating func endStep(budget: (SimulatedTransfer) -> ConnectionBudget? = { _ in nil }) {
        for (exchange, _) in table.exhausted(received) { end(exchange) }
        if time >= nextSample - 1e-9 {
            sample(budget(self))
            nextSample = time + controller.sampleInterval(setup: table.setup, at: now) / .seconds(1)
        }
        fill()
    }

    private mutating func request(_ range: Range<Int64>) {
        lastExchange += 1
        table.request(range, by: ExchangeID(rawValue: lastExchange), at: now)
    }

    private mutating func end(_ exchange: ExchangeID) {
        connections[exchange] = nil
        table.remove(exchange)
    }

    private mutating func acceptHeads(otherCount: Int) {
        for exchange in table.requestIDs {
            guard let progress = table[exchange], let range = progress.range,
                now - progress.sentAt >= .seconds(network.setup)
            else { continue }
            guard table.segments.count + otherCount < network.limit else {
                table.remove(exchange)
                _ = controller.refused(segmentCount: table.segments.count, at: now)
                continue
            }
            let acceptance = table.accept(
                exchange, from: range.lowerBound, responseEnd: range.upperBound, length: length, received: received,
                at: now)
            if case .late = acceptance {
                table.remove(exchange)
            } else {
                var connection = Connection(number: exchange.rawValue - 1, acceptedAt: time)
                // The server sends the first part at once.
                connection.remainder = rate(of: connection) * network.partInterval * 1e6
                connections[exchange] = connection
                controller.accepted(segmentCount: table.segments.count)
            }
        }
        largestCount = max(largestCount, table.segments.count)
    }

    /// Returns the maximum rate of a connection.
    private func rate(of connection: Connection) -> Double {
        network.connectionRates[connection.number % network.connectionRates.count]
    }

    /// The rates of the connections that have a segment, if only the server limits them.
    var rates: [Double] {
        table.segments.map { segment in
            let connection = connections[segment.exchange]
            let rate = connection.map(rate(of:)) ?? 0
            return rate * min(1, (time - (connection?.acceptedAt ?? 0)) / max(network.rampTime, step))
        }
    }

    /// Receives the bytes of a step.
    mutating func receive(_ rates: [Double], factor: Double) {
        if network.grantInterval > 0 { return receiveGrant() }
        if network.isBursty, time.truncatingRemainder(dividingBy: 1) > 0.25 { return }
        // Bursts have the same mean.
        let factor = factor * (network.isBursty ? 4 : 1)
        for (segment, rate) in zip(table.segments, rates) {
            var connection = connections[segment.exchange]
            let limit = connection.map(rate(of:)) ?? 0
            let part = network.clockPhase.flatMap { connection?.takePart(limit * 1e6, at: time, phase: $0) }
            let count = part ?? rate * factor * step * 1e6 + (connection?.remainder ?? 0)
            if let connection, !isPartDue(since: connection.acceptedAt) {
                // The server keeps the bytes until it sends the next part.
                connections[segment.exchange]?.remainder = count
                continue
            }
            connection?.remainder = count - count.rounded(.down)
            connections[segment.exchange] = connection
            receive(Int64(count), of: segment)
        }
    }

    private mutating func receive(_ count: Int64, of segment: Segment) {
        if count >= 1 {
            flow.arrived(Int(count), of: segment.exchange, isAlone: table.count == 1, at: now, pause: .seconds(5))
        }
        let range = segment.claimed..<segment.claimed + count
        for part in table.claim(range, by: segment.exchange, received: received, at: now) {
            received.insert(part)
            table.wrote(part, by: segment.exchange, at: now)
        }
    }

    /// Receives the bytes of an interval over a random connection, if the server sends them in this step.
    private mutating func receiveGrant() {
        let (last, present) = ((time - step) / network.grantInterval, time / network.grantInterval)
        guard present.rounded(.down) > last.rounded(.down), !table.segments.isEmpty else { return }
        let segment = table.segments[Int(random.next() % UInt64(table.segments.count))]
        receive(Int64(network.linkRate * network.grantInterval * 1e6), of: segment)
    }

    /// Returns whether the server sends a part of the body in this step.
    private func isPartDue(since start: Double) -> Bool {
        guard network.partInterval > 0, time - step > start else { return true }
        let (last, present) = ((time - step - start) / network.partInterval, (time - start) / network.partInterval)
        return present.rounded(.down) > last.rounded(.down)
    }

    /// The number of bytes that the transfer has received.
    var byteCount: Int64 { received.count }

    private mutating func sample(_ budget: ConnectionBudget?) {
        if let disturbance = budget?.disturbance { controller.disturbed(by: disturbance, at: now) }
        let all = budget?.receivedCount ?? byteCount
        let count = byteCount - sampled.own
        let sample = ConnectionController.Sample(
            byteCount: count, otherByteCount: all - sampled.all - count, segmentCount: table.segments.count,
            remainingCount: length - byteCount, setup: table.setup, parts: flow.parts,
            connectionParts: flow.connectionParts(of: table.segments.map(\.exchange), at: now),
            bound: budget?.bound ?? 16, mayTry: budget?.mayTry ?? true)
        sampled = (byteCount, all)
        let number = controller.measure(sample, at: now)
        let newest = table.segments.map(\.exchange).sorted { $0.rawValue > $1.rawValue }
        for exchange in newest.prefix(max(0, table.segments.count - number)) { end(exchange) }
    }

    /// Requests as many parts as the controller permits, or the rest if no other exchange runs.
    private mutating func fill() {
        guard !table.segments.isEmpty else {
            if !table.hasRequests, let gap = received.firstGap(below: length) { request(gap.lowerBound..<length) }
            return
        }
        guard controller.mayRequest(at: now) else { return }
        let missing = controller.number - table.segments.count - table.requestIDs.count
        let terms = ExchangeTable.RequestTerms(
            count: min(4, missing), minimumTime: isFixed ? nil : ExtraExchanges.minimumTime(setup: table.setup))
        for range in table.requestRanges(terms, received: received, at: now) { request(range) }
    }
}

extension SimulatedTransfer.Connection {
    /// Returns the number of bytes that a server sends now which limits the connection to `rate` bytes per second.
    fileprivate mutating func takePart(_ rate: Double, at time: Double, phase: Double) -> Double {
        guard time >= nextPart else { return 0 }
        let seconds = (time + phase).rounded(.down) - (acceptedAt + phase).rounded(.down) + 1
        let permitted = rate * seconds - sentCount
        guard permitted >= 1 else {
            nextPart = time - permitted / rate + 0.001
            return 0
        }
        let count = min(permitted, Double(2 << 20)).rounded(.down)
        sentCount += count
        nextPart = time + count / rate
        return count
    }
}
