extension Int64 {
    /// Returns the sum of two counts, or `Int64.max` if it overflows; sizes of sparse files can add up to any number.
    func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
