#if canImport(FoundationEssentials)
internal import struct FoundationEssentials.Date
#else
internal import struct Foundation.Date
#endif

extension HTTPDate {
    /// Creates an instant in whole seconds; an infinite date, or one outside the range, is clamped.
    ///
    /// A date that is not a number counts as the end of the range.
    init(_ date: Date, rounding: FloatingPointRoundingRule = .down) {
        let seconds = date.timeIntervalSince1970.rounded(rounding)
        // Beyond the range of HTTPDate, and within that of Int64.
        let bound = 1e12
        self.init(secondsSinceEpoch: Int64(seconds.isNaN ? bound : min(max(seconds, -bound), bound)))
    }

    /// Returns the time from this instant to `date`, which is negative if `date` is earlier.
    func duration(to date: Date) -> Duration { .seconds(HTTPDate(date).seconds(since: self)) }
}
