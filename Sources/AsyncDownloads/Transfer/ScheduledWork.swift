/// The timers of a transfer, and the task that asks a subscriber for a fresh URL.
struct ScheduledWork: Sendable {
    private var retry: (any ScheduledAction)?
    private var tick: (any ScheduledAction)?
    private var mark: (any ScheduledAction)?
    private var refresh: Task<Void, Never>?

    /// Stores the timer of the next retry.
    mutating func setRetry(_ timer: any ScheduledAction) { retry = timer }

    /// Stores the timer of the next periodic check.
    mutating func setTick(_ timer: any ScheduledAction) { tick = timer }

    /// Stores the timer of the next mark.
    mutating func setMark(_ timer: any ScheduledAction) { mark = timer }

    /// Stores the task that asks for a fresh URL.
    mutating func setRefresh(_ task: Task<Void, Never>) { refresh = task }

    /// Removes and returns the timer of a retry, to be canceled.
    mutating func takeRetry() -> (any ScheduledAction)? { retry.take() }

    /// Removes and returns the task that asks for a fresh URL, to be canceled.
    mutating func takeRefresh() -> Task<Void, Never>? { refresh.take() }

    /// Removes and returns all timers, to be canceled.
    mutating func takeTimers() -> [any ScheduledAction] {
        [tick.take(), retry.take(), mark.take()].compactMap { $0 }
    }
}
