extension Int64 {
    /// The sum of two counts, or the largest number where that is larger: sizes of sparse files add up to anything.
    func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
