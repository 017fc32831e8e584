internal import Foundation

/// The rate at which bytes arrive: an exponentially weighted mean with a time constant of half a second.
///
/// The rate of a stalled connection falls toward zero even without calls.
struct DecayingRate: Sendable, Hashable {
    private static let timeConstant = Duration.milliseconds(500)
    /// The time for which bytes are counted before the rate describes the connection.
    private static let shortestSample = Duration.milliseconds(100)

    private let start: Duration
    private var last: Duration
    /// The counted bytes, each weighted by its age at ``last``.
    private var weightedBytes = 0.0

    /// Starts counting, because bytes may arrive from now on.
    init(since now: Duration) {
        start = now
        last = now
    }

    /// Counts bytes that have arrived.
    mutating func add(_ count: Int64, at now: Duration) {
        weightedBytes = weightedBytes * decay(until: now) + Double(count)
        last = max(last, now)
    }

    /// Returns the rate in bytes per second; nil while the connection is too new.
    func value(at now: Duration) -> Double? {
        guard now - start >= Self.shortestSample else { return nil }
        // The total weight of the time since the start. Without it, the rate of a new connection would be too low.
        let weight = 1 - exp(-((now - start) / Self.timeConstant))
        return weightedBytes * decay(until: now) / (weight * (Self.timeConstant / .seconds(1)))
    }

    private func decay(until now: Duration) -> Double {
        exp(-(max(.zero, now - last) / Self.timeConstant))
    }
}
