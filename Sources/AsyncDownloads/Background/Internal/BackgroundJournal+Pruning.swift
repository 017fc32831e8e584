extension BackgroundJournal {
    /// Removes the records that no download needs, and whose bytes have been kept for longer than the options say.
    ///
    /// Outcomes that no handle has received are kept.
    mutating func prune(before now: Int64) {
        let lifetime = current.options.abandonedBytesLifetime.components.seconds
        for record in records where record.deliveries.isEmpty {
            guard !record.isHandedOver else { continue }
            guard let since = record.abandonedAt else {
                update(record.id) { $0.abandonedAt = now }
                continue
            }
            if now - since > lifetime { remove(record.id) }
        }
    }
}
