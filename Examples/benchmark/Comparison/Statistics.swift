extension [Double] {
    /// The middle value in ascending order, or the mean of the two in the middle; nil if there is none.
    var median: Double? {
        guard !isEmpty else { return nil }
        let values = sorted()
        let middle = count / 2
        return count.isMultiple(of: 2) ? (values[middle - 1] + values[middle]) / 2 : values[middle]
    }

    /// Returns the median of the quotients of two series of values that were measured in the same rounds.
    ///
    /// Rounds whose divisor is zero are left out.
    func medianRatio(to divisors: [Double]) -> Double? {
        zip(self, divisors).filter { $0.1 > 0 }.map { $0 / $1 }.median
    }
}
