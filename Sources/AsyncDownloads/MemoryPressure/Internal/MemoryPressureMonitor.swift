/// The port to a source of memory-pressure levels.
protocol MemoryPressureMonitor: Sendable {
    /// Calls `observer` when the level changes, and again for each additional sign of the same level, until stopped.
    ///
    /// The level before the first call is normal. Calls occur one at a time and in order, on the thread that detects
    /// the level; the first one may occur before this method returns. An observer may block, stop the watch, or start
    /// another one. Each call of this method starts a separate watch, which continues even if nothing holds it. If
    /// nothing can be watched, the observer is never called.
    func watch(_ observer: @escaping @Sendable (MemoryPressure) -> Void) -> any MemoryPressureWatch
}

/// A watch of memory pressure that has started.
protocol MemoryPressureWatch: Sendable {
    /// Ends the watch and releases its resources; later calls have no effect.
    ///
    /// This method doesn't wait. A call of the observer that was about to occur may still occur, and none follows it.
    func stop()
}
