@testable import AsyncDownloads

/// A table of exchanges together with what is received, for tests that name exchanges by number.
struct PlanFixture {
    static let mebibyte: Int64 = 1 << 20

    var table = ExchangeTable()
    var received = IntervalSet()
    var now = Duration.zero
    let length: Int64

    /// Creates a plan in which exchange 1 fetches the whole file.
    init(length: Int64 = 64 << 20, received: IntervalSet = IntervalSet()) {
        self.length = length
        self.received = received
        let start = received.prefixEnd
        table.request(start..<length, by: 1, at: now)
        _ = accept(1, start)
    }

    /// The exchanges, with the ranges that they still fetch.
    var open: [ExchangeID: Range<Int64>] {
        Dictionary(uniqueKeysWithValues: table.segments.map { ($0.exchange, $0.openRange) })
    }

    /// Sends requests with the numbers from `first` on, and returns their ranges.
    mutating func request(
        _ count: Int, from first: Int, _ terms: ExchangeTable.RequestTerms = .init(count: 0)
    ) -> [Range<Int64>] {
        var terms = terms
        terms.count = count
        let ranges = table.requestRanges(terms, received: received, at: now)
        for (index, range) in ranges.enumerated() {
            table.request(range, by: ExchangeID(rawValue: first + index), at: now)
        }
        return ranges
    }

    mutating func accept(_ exchange: ExchangeID, _ start: Int64, to end: Int64? = nil) -> SegmentPlan.Acceptance {
        let end = end ?? table[exchange]?.range?.upperBound ?? length
        return table.accept(exchange, from: start, responseEnd: end, length: length, received: received, at: now)
    }

    /// Accepts the response to the exchange's request.
    mutating func accept(_ exchange: ExchangeID) -> SegmentPlan.Acceptance {
        accept(exchange, table[exchange]?.range?.lowerBound ?? 0)
    }

    /// Lets `count` bytes of an exchange arrive, and writes them.
    @discardableResult
    mutating func receive(_ count: Int64, _ exchange: ExchangeID) -> [Range<Int64>] {
        let parts = arrive(count, exchange)
        for part in parts { write(part, exchange) }
        return parts
    }

    /// Lets `count` bytes of an exchange arrive, and returns the bytes to write.
    mutating func arrive(_ count: Int64, _ exchange: ExchangeID) -> [Range<Int64>] {
        guard let start = table.segment(of: exchange)?.claimed else { return [] }
        return table.claim(start..<start + count, by: exchange, received: received, at: now)
    }

    mutating func write(_ range: Range<Int64>, _ exchange: ExchangeID) {
        received.insert(range)
        table.wrote(range, by: exchange, at: now)
    }

    /// Receives at these rates, in MiB per second.
    ///
    /// Bytes arrive every eighth of a second.
    mutating func receive(at rates: [ExchangeID: Int64], seconds: Int = 1) {
        for _ in 0..<seconds * 8 {
            now += .milliseconds(125)
            for (exchange, rate) in rates.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                receive(rate * Self.mebibyte / 8, exchange)
            }
        }
    }
}

extension ExchangeTable {
    /// Adds an exchange that requests these bytes.
    mutating func request(_ range: Range<Int64>, by id: ExchangeID, at now: Duration) {
        insert(ExchangeProgress(request: .segment(range, validator: nil), length: range.upperBound, at: now), id: id)
    }

    /// Accepts the head of an exchange, which is canceled if it comes too late.
    mutating func accept(
        _ id: ExchangeID, from start: Int64, responseEnd: Int64?, length: Int64?, received: IntervalSet,
        at now: Duration
    ) -> SegmentPlan.Acceptance {
        let acceptance = assign(
            from: start, responseEnd: responseEnd, length: length, to: id, received: received, at: now)
        switch acceptance {
        case .segment: update(id) { $0.accept(skipping: 0, end: responseEnd) }
        case .late: cancel(id, at: now)
        }
        return acceptance
    }

    /// Records that a part was written.
    mutating func wrote(_ range: Range<Int64>, by id: ExchangeID, at now: Duration) {
        update(id) { $0.finishWrite(range, at: now) }
    }

    /// The canceled exchanges, with their writes in progress.
    var closing: [ExchangeID: [Range<Int64>]] {
        let canceled = all.filter { !$0.exchange.isRequested && segment(of: $0.id) == nil }
        return Dictionary(uniqueKeysWithValues: canceled.map { ($0.id, $0.exchange.writes) })
    }

    /// Returns the missing ranges that no exchange is going to receive, in ascending order; requests don't count.
    func unassigned(_ received: IntervalSet) -> [Range<Int64>] {
        guard let length = plan.length else { return [] }
        var covered = withWrites(received)
        for segment in segments { covered.insert(segment.openRange.clamped(to: 0..<length)) }
        return covered.gaps(in: 0..<length)
    }

    /// Returns the violations of the plan's invariants, for failure messages.
    func violations(_ received: IntervalSet) -> [String] {
        var found: [String] = []
        for (segment, next) in zip(segments, segments.dropFirst()) where segment.openRange.upperBound > next.start {
            found.append("\(segment) overlaps \(next)")
        }
        for segment in segments {
            let position = self[segment.exchange]?.writes.first?.lowerBound ?? segment.claimed
            let points = [segment.start, position, segment.claimed, segment.openRange.upperBound]
            if points != points.sorted() { found.append("\(segment) is out of order") }
            if let limit = segment.limit, limit > segment.responseEnd ?? .max { found.append("\(segment) is too long") }
            if let length = plan.length, segment.responseEnd ?? 0 > length { found.append("\(segment) is too long") }
        }
        guard let length = plan.length else { return found }
        // Every missing byte is open in one segment, being written, or unassigned.
        var assigned = withWrites(IntervalSet())
        for segment in segments { assigned.insert(segment.openRange) }
        for gap in unassigned(received) { assigned.insert(gap) }
        for missing in received.gaps(in: 0..<length) where !assigned.gaps(in: missing).isEmpty {
            found.append("\(missing) is lost")
        }
        for gap in unassigned(received) where received.gaps(in: gap) != [gap] {
            found.append("\(gap) is unassigned although it is received")
        }
        return found
    }
}
