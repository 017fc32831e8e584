/// A sign of memory pressure that the system reports to a process.
enum PressureSign: Sendable, Hashable {
    /// Pressure of this level occurred a moment ago; the system doesn't report its end.
    case moment(MemoryPressure)
    /// Pressure of this level lasts until the next report.
    case lasting(MemoryPressure)

    fileprivate var level: MemoryPressure {
        switch self {
        case .moment(let level), .lasting(let level): level
        }
    }
}

/// The conversion of signs into levels of memory pressure, without effects.
///
/// The level rises with the first sign of a higher level. It falls when there was no sign of it for the duration of
/// ``calm``, so pressure that comes and goes doesn't make the level alternate.
struct PressureGauge: Sendable {
    /// The time for which a momentary sign counts.
    ///
    /// The kernel measures windows of two seconds. Under constant thrashing, every second or third window had a sign of
    /// one of the two kinds; five windows without a sign are considered calm.
    static let calm = Duration.seconds(10)

    /// The level that was reported last.
    private(set) var level = MemoryPressure.normal

    private var lasting = MemoryPressure.normal
    private var moments: [MemoryPressure: Duration] = [:]

    /// Records a sign, and returns the level to report, if any.
    ///
    /// A sign of the current level is reported again, because the memory that was released may have been used again. A
    /// sign of a lower level is only recorded.
    mutating func take(_ sign: PressureSign, at now: Duration) -> MemoryPressure? {
        switch sign {
        case .moment(.normal): break
        case .moment(let level): moments[level] = now
        case .lasting(let level): lasting = level
        }
        if let change = expireSigns(at: now) { return change }
        return sign.level == level && level > .normal ? level : nil
    }

    /// Removes expired signs, and returns the new level if it has changed.
    mutating func expireSigns(at now: Duration) -> MemoryPressure? {
        moments = moments.filter { now < $0.value + Self.calm }
        let current = max(lasting, moments.keys.max() ?? .normal)
        defer { level = current }
        return current == level ? nil : current
    }

    /// The time at which the next sign expires, if any.
    var nextChange: Duration? { moments.values.min().map { $0 + Self.calm } }
}
