/// How short of memory the system, or the control group of this process, is.
public enum MemoryPressure: Int, Sendable, Hashable, CaseIterable, Comparable {
    /// There is no shortage.
    case normal
    /// Memory is short: what can be had again cheaply should be freed.
    case warning
    /// Memory is so short that the process may be ended: everything that can be had again should be freed.
    case critical

    /// Whether `left` is the lesser shortage.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
