#if ServerStack
/// Whether memory stays as it is while downloads come and go: the late samples against the early ones.
///
/// Of the ten, the first is left out, in which caches and pools fill up, and medians are compared, since a single
/// sample also shows what happens to be held for connections at that moment.
struct Flatness: Sendable, Hashable, Codable {
    /// The median of the samples 2 to 4, in bytes.
    let early: Int64
    /// The median of the last three, in bytes.
    let late: Int64
    /// How much more is taken for nothing: a tenth of ``early``, and at least 8 MiB.
    let allowed: Int64

    var isFlat: Bool { late - early <= allowed }

    /// Judges ten samples of resident memory in bytes.
    init(_ samples: [Int64]) {
        precondition(samples.count == 10, "ten samples, not \(samples.count)")
        early = Self.median(samples[1...3])
        late = Self.median(samples[7...9])
        allowed = max(8 << 20, early / 10)
    }

    private static func median(_ samples: ArraySlice<Int64>) -> Int64 {
        samples.sorted()[samples.count / 2]
    }
}
#endif
