/// A comparison of late and early samples of memory, which shows whether memory grows during the downloads.
///
/// The first of the ten samples is ignored, because caches and pools fill up at that time. Medians are compared,
/// because a single sample includes the memory that connections happen to hold at its time.
struct Flatness: Sendable, Hashable, Codable {
    /// The median of samples 2 to 4, in bytes.
    let early: Int64
    /// The median of the last three samples, in bytes.
    let late: Int64
    /// The increase in bytes that is tolerated: a tenth of ``early``, but at least 8 MiB.
    let allowed: Int64

    var isFlat: Bool { late - early <= allowed }

    /// Evaluates ten samples of resident memory in bytes.
    init(_ samples: [Int64]) {
        precondition(samples.count == 10, "ten samples are required, not \(samples.count)")
        early = Self.median(samples[1...3])
        late = Self.median(samples[7...9])
        allowed = max(8 << 20, early / 10)
    }

    private static func median(_ samples: ArraySlice<Int64>) -> Int64 {
        samples.sorted()[samples.count / 2]
    }
}
