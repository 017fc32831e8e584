/// The memory pressure of the system, or of the control group of this process.
public enum MemoryPressure: Int, Sendable, Hashable, CaseIterable, Comparable {
    /// Memory isn't short.
    case normal
    /// Memory is short, and memory whose contents are cheap to restore should be released.
    case warning
    /// The process may be terminated, and all memory whose contents can be restored should be released.
    case critical

    /// Returns whether `left` is the lower level of pressure.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
