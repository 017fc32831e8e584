/// A hash of 128 bits that stands for a value in the tables of this process.
///
/// The hash is keyed with the random seed of the process (SipHash), so no one outside the process can choose values
/// with equal hashes, and the probability that two values have equal hashes by chance is negligible even for billions
/// of values. A table with these keys needs no copies of the values.
struct HashDigest: Sendable, Hashable {
    private let high: Int
    private let low: Int

    /// Creates the digest of a value.
    init(_ value: some Hashable) {
        (high, low) = (Self.hash(value, variant: 0), Self.hash(value, variant: 1))
    }

    /// Creates the digest of a text, which differs for different bytes of equivalent characters.
    init(bytesOf text: String) {
        self.init(ByteText(text))
    }

    // Half of the digest suffices here, because its bits are evenly distributed; `==` compares both halves.
    func hash(into hasher: inout Hasher) {
        hasher.combine(low)
    }

    private static func hash(_ value: some Hashable, variant: UInt8) -> Int {
        var hasher = Hasher()
        hasher.combine(variant)
        hasher.combine(value)
        return hasher.finalize()
    }
}
