/// What a system lets a process know of its memory.
enum PressureSign: Sendable, Hashable {
    /// This much pressure was there a moment ago; nothing will be said when it is over.
    case moment(MemoryPressure)
    /// This much pressure is there until something else is said.
    case lasting(MemoryPressure)

    fileprivate var level: MemoryPressure {
        switch self {
        case .moment(let level), .lasting(let level): level
        }
    }
}

/// Makes levels of signs: a value without effects.
///
/// A level rises with the first sign of it. It falls when there was none for the time of calm, so that pressure that
/// comes and goes does not make it flicker.
struct PressureGauge: Sendable {
    /// How long a momentary sign counts.
    ///
    /// The kernel looks at windows of two seconds. Under steady thrashing every second or third of them had a sign of
    /// one kind or the other; five without any are calm.
    static let calm = Duration.seconds(10)

    /// The level that was told last.
    private(set) var level = MemoryPressure.normal

    private var lasting = MemoryPressure.normal
    private var moments: [MemoryPressure: Duration] = [:]

    /// Takes a sign up; the level to tell, if any.
    ///
    /// A sign of the level that is there already is told again: what has been freed since may have grown back. A lesser
    /// one is only remembered.
    mutating func take(_ sign: PressureSign, at now: Duration) -> MemoryPressure? {
        switch sign {
        case .moment(.normal): break
        case .moment(let level): moments[level] = now
        case .lasting(let level): lasting = level
        }
        if let change = performEffects(at: now) { return change }
        return sign.level == level && level > .normal ? level : nil
    }

    /// Lets signs grow old; the level to tell, if it has changed.
    mutating func performEffects(at now: Duration) -> MemoryPressure? {
        moments = moments.filter { now < $0.value + Self.calm }
        let current = max(lasting, moments.keys.max() ?? .normal)
        defer { level = current }
        return current == level ? nil : current
    }

    /// When a sign will be too old.
    var nextChange: Duration? { moments.values.min().map { $0 + Self.calm } }
}
