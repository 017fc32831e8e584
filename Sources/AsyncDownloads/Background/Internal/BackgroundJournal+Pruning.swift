extension BackgroundJournal {
    /// The time for which a delivered file is remembered, in seconds: 30 days.
    static let deliveredLifetime: Int64 = 2_592_000
    /// The number of delivered files that are remembered.
    static let maximumDeliveredCount = 500

    /// Removes old records of delivered files, and bytes of canceled downloads older than the options permit.
    ///
    /// Outcomes that the app has not received are kept.
    mutating func prune(before now: Int64) {
        let lifetime = current.options.abandonedBytesLifetime.components.seconds
        for record in records where !record.isPending {
            let old = record.deliveries.filter { now - ($0.acknowledgedAt ?? now) > Self.deliveredLifetime }
            forget(old, of: record.id)
            guard !record.isHandedOver, record.deliveries.isEmpty || record.hasUsefulBytes else { continue }
            guard let since = record.abandonedAt else {
                update(record.id) { $0.abandonedAt = now }
                continue
            }
            if now - since > lifetime { removeBytes(of: record.id) }
        }
        removeSurplusDeliveries()
    }

    /// Removes the records of the files that were delivered first, if there are too many.
    mutating func removeSurplusDeliveries() {
        let delivered = records.flatMap { record in
            record.deliveries.compactMap { delivery in
                delivery.acknowledgedAt.map { (date: $0, record: record.id, delivery: delivery) }
            }
        }
        let surplus = delivered.count - Self.maximumDeliveredCount
        guard surplus > 0 else { return }
        for entry in delivered.sorted(by: { ($0.date, $0.record) < ($1.date, $1.record) }).prefix(surplus) {
            forget([entry.delivery], of: entry.record)
        }
    }

    /// Removes deliveries, and the record if nothing else is in it.
    private mutating func forget(_ deliveries: [BackgroundDelivery], of id: Int) {
        guard !deliveries.isEmpty else { return }
        update(id) { $0.deliveries.removeAll { deliveries.contains($0) } }
        if let record = self[id], record.deliveries.isEmpty, !record.hasUsefulBytes { remove(id) }
    }

    /// Removes a record that nothing waits for, except for the files that were delivered.
    mutating func removeBytes(of id: Int) {
        guard let record = self[id], !record.deliveries.isEmpty else { return remove(id) }
        update(id) { record in
            record.stage = .idle(resumeData: nil)
            record.base = nil
            record.receivedByteCount = 0
            record.abandonedAt = nil
            record.isPaused = true
            // A late event of the last task is about nothing that this record still has.
            record.attempt += 1
        }
    }
}
