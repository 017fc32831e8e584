internal import AsyncDownloads
internal import TestSupport
internal import Testing

@testable internal import batch

/// Tests of the dictionary of hash values.
@Suite(.endsWhenHung) struct HashTableTests {
    /// Keys near zero share a slot or an adjacent one, also across the end of the table.
    @Test func `the table has the values of a dictionary`() {
        var random = SplitMix64(seed: 1)
        var (table, expected) = (HashTable(), [Int: UInt32]())
        for value: UInt32 in 0..<20_000 {
            let isNear = Bool.random(using: &random)
            let key = Int.random(in: isNear ? -300...300 : .min ... .max, using: &random)
            (table[key], expected[key]) = (value, value)
            let other = Int.random(in: -300...300, using: &random)
            #expect(table[other] == expected[other])
        }
        #expect(expected.allSatisfy { table[$0] == $1 })
    }

    @Test func `less than a third of the slots of a large table is empty`() {
        var table = HashTable()
        for key in 0..<40_000 {
            table[key.hashValue] = 1
            #expect(table.slotCount <= (key + 1) * 3 / 2 + 400)
        }
    }
}
