/// Tells how short memory is (port).
package protocol MemoryPressureMonitor: Sendable {
    /// Calls `observer` with a level when it changes, and again when there is a further sign of it, until stopped.
    ///
    /// The level before the first call is normal. Calls come one at a time and in order, on whatever thread learns of
    /// the level, the first perhaps before this method returns. An observer may block, stop the watch, or begin another
    /// one. Each call of this method makes a watch of its own, which goes on whether or not anybody holds it. Where
    /// nothing can be watched, the observer is never called.
    func watch(_ observer: @escaping @Sendable (MemoryPressure) -> Void) -> any MemoryPressureWatch
}

/// A watch that has begun.
package protocol MemoryPressureWatch: Sendable {
    /// Ends the watch and frees what it needed; again does nothing.
    ///
    /// It waits for nothing: one call of the observer that was on its way may still come, and none follows.
    func stop()
}
