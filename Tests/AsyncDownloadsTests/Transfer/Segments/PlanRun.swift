@testable import AsyncDownloads

/// A run of one table with random exchanges, whose order and faults are drawn from a seed.
struct PlanRun {
    private enum Move: CaseIterable { case request, head, refusal, bytes, write, death, cancel, exhaustion, restart }

    /// The moves; the ones that end the run are drawn most often.
    private static let moves = Move.allCases + Array(repeating: .bytes, count: 3) + Array(repeating: .write, count: 3)

    private(set) var table = ExchangeTable()
    private(set) var received = IntervalSet()
    private(set) var violations: [String] = []
    private(set) var history: [String] = []
    private let length: Int64
    private let window: Int64?
    /// Whether exchanges may die, and responses may be shorter than requested.
    private let hasFaults: Bool
    private var now = Duration.zero
    private var generator: SplitMix64
    private var lastExchange = 0
    /// The position of the next byte of each body.
    private var positions: [ExchangeID: Int64] = [:]
    /// The writes in progress, in the order in which they were claimed.
    private var writes: [(exchange: ExchangeID, range: Range<Int64>)] = []

    private let keepsHistory: Bool

    init(seed: UInt64, hasFaults: Bool, keepsHistory: Bool = false) {
        self.keepsHistory = keepsHistory
        generator = SplitMix64(seed: seed)
        self.hasFaults = hasFaults
        let isLarge = Int.random(in: 0..<8, using: &generator) == 0
        length = Int64.random(in: 1...(isLarge ? 40 << 20 : 3000), using: &generator)
        window =
            hasFaults && Bool.random(using: &generator)
            ? max(1, length / Int64.random(in: 1...9, using: &generator)) : nil
        // Holes of an earlier process. A file without faults has none, so that no long received range ends a segment.
        for _ in 0..<(hasFaults ? Int.random(in: 0...3, using: &generator) : 0) {
            received.insert(part(of: 0..<length))
        }
    }

    private mutating func part(of range: Range<Int64>) -> Range<Int64> {
        let start = Int64.random(in: range, using: &generator)
        return start..<Int64.random(in: start..<range.upperBound, using: &generator) + 1
    }

    private mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &generator) == 0 }

    /// Runs until every byte is received.
    mutating func run() {
        for _ in 0..<3000 where violations.isEmpty {
            if received.isComplete(below: length), writes.isEmpty { return }
            if table.segments.isEmpty, !table.hasRequests {
                startSole()
            } else {
                make(Self.moves.randomElement(using: &generator))
            }
            now += .milliseconds(Int.random(in: 0...200, using: &generator))
            violations += table.violations(received)
            let isAssigned = table.segments.isEmpty || table.unassigned(received).isEmpty
            check(hasFaults || isAssigned, "bytes without an exchange")
        }
        if violations.isEmpty { violations.append("no end") }
    }

    private mutating func make(_ move: Move?) {
        switch move {
        case .request: request()
        case .head: acceptHead()
        case .refusal: refuse()
        case .bytes, nil: receive()
        case .write: finishWrite()
        case .death:
            if hasFaults, chance(4), let one = table.segments.randomElement(using: &generator) { end(one.exchange) }
        case .cancel:
            if hasFaults, chance(4), let one = table.segments.randomElement(using: &generator) { cancel(one.exchange) }
        case .exhaustion: for (exchange, _) in table.exhausted(received) { cancel(exchange) }
        case .restart: if hasFaults, chance(20) { stopAll() }
        }
    }

    // MARK: Exchanges

    private mutating func nextExchange() -> ExchangeID {
        lastExchange += 1
        return ExchangeID(rawValue: lastExchange)
    }

    /// Requests the rest of the file from its first missing byte on, as a transfer does without another exchange.
    private mutating func startSole() {
        endClosing()
        let start = received.firstMissing(from: 0)
        guard start < length else { return }
        let exchange = nextExchange()
        table.request(start..<min(length, start + (window ?? length)), by: exchange, at: now)
        note("sole \(exchange) from \(start)")
        accept(exchange, fraction: 1)
    }

    private mutating func request() {
        let terms = ExchangeTable.RequestTerms(
            count: Int.random(in: 1...5, using: &generator), minimumLength: length > 1 << 20 ? 1 << 20 : 20,
            minimumTime: chance(3) ? .milliseconds(1) : nil, window: window)
        guard table.segments.count + table.requestIDs.count < 16 else { return }
        let ranges = table.requestRanges(terms, received: received, at: now)
        check(ranges.count <= terms.count, "more requests than wanted")
        check(Set(ranges.map(\.lowerBound)).count == ranges.count, "two requests with one start")
        for range in ranges {
            let exchange = nextExchange()
            note("request \(exchange) \(range)")
            check(received.range(containing: range.lowerBound) == nil, "a received byte is requested")
            check(
                range.upperBound <= length && range.count <= window ?? .max, "requested beyond the length or the window"
            )
            table.request(range, by: exchange, at: now)
        }
    }

    private mutating func acceptHead() {
        guard let exchange = table.requestIDs.randomElement(using: &generator) else { return }
        accept(exchange, fraction: hasFaults && chance(5) ? Double(generator.nextFraction()) : 1)
    }

    private mutating func accept(_ exchange: ExchangeID, fraction: Double) {
        guard let range = table[exchange]?.range else { return }
        let before = table.segments
        let end = max(range.lowerBound + 1, range.lowerBound + Int64(Double(range.count) * fraction))
        let acceptance = table.accept(
            exchange, from: range.lowerBound, responseEnd: end, length: length, received: received, at: now)
        note("accept \(exchange) to \(end): \(acceptance)")
        let changed = before.filter { table.segment(of: $0.exchange) != $0 }.map(\.exchange)
        switch acceptance {
        case .segment(let shortened): check(changed == (shortened.map { [$0] } ?? []), "\(changed) changed")
        case .late: check(changed.isEmpty, "a late head has changed \(changed)")
        }
    }

    private mutating func refuse() {
        guard let exchange = table.requestIDs.randomElement(using: &generator) else { return }
        let before = (table.segments, table.unassigned(received))
        note("refuse \(exchange)")
        table.remove(exchange)
        check(before == (table.segments, table.unassigned(received)), "a refusal has changed the segments")
    }

    // MARK: Bytes

    private mutating func receive() {
        guard let segment = table.segments.randomElement(using: &generator) else { return }
        let most = max(1, min(length / 2, 2 << 20))
        let position = positions[segment.exchange] ?? segment.start
        // A response has no bytes beyond its end.
        let left = (segment.responseEnd ?? length) - position
        guard left > 0 else { return end(segment.exchange) }
        let range = position..<position + min(Int64.random(in: 1...most, using: &generator), left)
        positions[segment.exchange] = range.upperBound
        let parts = table.claim(range, by: segment.exchange, received: received, at: now)
        note("\(segment.exchange) receives \(range): \(parts)")
        for part in parts {
            check(received.gaps(in: part) == [part], "\(part) is written twice")
            check(!writes.contains { $0.range.overlaps(part) }, "\(part) is written twice at a time")
            check(segment.openRange.clamped(to: part) == part, "\(part) is outside the segment")
            writes.append((segment.exchange, part))
        }
    }

    private mutating func finishWrite() {
        guard let index = writes.indices.randomElement(using: &generator) else { return }
        // The writes of one exchange end in order.
        let exchange = writes[index].exchange
        finishWrites(of: exchange, count: 1)
    }

    private mutating func finishWrites(of exchange: ExchangeID, count: Int = .max) {
        for _ in 0..<min(count, writes.count) {
            guard let index = writes.firstIndex(where: { $0.exchange == exchange }) else { return }
            let range = writes.remove(at: index).range
            received.insert(range)
            table.wrote(range, by: exchange, at: now)
            note("\(exchange) wrote \(range)")
        }
    }

    // MARK: Ends

    private mutating func end(_ exchange: ExchangeID) {
        note("end \(exchange)")
        finishWrites(of: exchange)
        table.remove(exchange)
    }

    /// Cancels an exchange, whose end comes after its writes.
    private mutating func cancel(_ exchange: ExchangeID) {
        note("cancel \(exchange)")
        table.cancel(exchange, at: now)
        if chance(2) { end(exchange) }
    }

    private mutating func stopAll() {
        note("cancel all")
        table.removeSegments()
        table.updateAll { [now] in $1.cancel(at: now) }
        check(table.segments.isEmpty && !table.hasRequests, "exchanges are left")
    }

    private mutating func endClosing() {
        for exchange in table.closing.keys.sorted(by: { $0.rawValue < $1.rawValue }) { end(exchange) }
        check(table.isEmpty && writes.isEmpty, "exchanges are left")
    }

    private mutating func note(_ text: @autoclosure () -> String) {
        if keepsHistory { history.append(text()) }
    }

    private mutating func check(_ condition: Bool, _ text: @autoclosure () -> String) {
        if !condition { violations.append(text()) }
    }
}
