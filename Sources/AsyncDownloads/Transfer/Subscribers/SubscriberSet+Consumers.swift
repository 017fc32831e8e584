/// The consumers of deliveries and of outcomes.
extension SubscriberSet {
    /// Returns the next delivery of a stream, or `nil` if `continuation` is resumed with it later.
    mutating func nextDelivery(
        of id: SubscriberID, _ stream: StreamID, _ continuation: CheckedContinuation<EventBuffer.Delivery, Never>,
        _ effects: inout [DeferredEffect]
    ) -> EventBuffer.Delivery? {
        // An unknown subscriber and an unknown stream are at their end.
        update(id) { $0.nextDelivery(of: stream, continuation, &effects) } ?? .some(.success(nil))
    }

    /// Adds a consumer that awaits the outcome of a subscriber.
    ///
    /// - Returns: The answer; nil if the task of the consumer is canceled, also if there is an outcome. Its cancellation
    ///   handler was called already, and has found no consumer.
    mutating func wait(
        _ waiter: WaiterID, of id: SubscriberID, resume: @escaping @Sendable (Outcome) -> Void
    ) -> WaitAnswer? {
        if Task.isCancelled { return nil }
        if let outcome = self[id]?.outcome { return .now(outcome) }
        _ = update(id) { $0.waiters.insert(resume, id: waiter) }
        return .later
    }
}
