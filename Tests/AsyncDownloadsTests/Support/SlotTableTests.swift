internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The table of slots, and the heap of its elements, compared with a dictionary in random orders.
@Suite(.endsWhenHung)
struct SlotTableTests {
    private struct Item: HeapElement {
        var order: Int
        var heapIndex: Int32 = 0
    }

    @Test(arguments: Seeds.first(4))
    func `in any order of operations, the table has the elements of a dictionary`(_ seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        var table = SlotTable<Int>()
        var expected: [Int32: Int] = [:]
        func isEqual() -> Bool {
            let most = (expected.keys.max() ?? 0) + 2
            return (0...most).allSatisfy { table.element(in: $0) == expected[$0] }
        }
        for step in 0..<2000 {
            let isGrowing = step % 500 < 300
            if expected.isEmpty || Int.random(in: 0..<10, using: &generator) < (isGrowing ? 7 : 3) {
                let slot = table.insert(step)
                #expect(expected[slot] == nil, "seed \(seed)")
                expected[slot] = step
            } else {
                let slot = try #require(expected.keys.sorted().randomElement(using: &generator))
                table.remove(at: slot)
                expected[slot] = nil
            }
            try #require(table.count == expected.count)
            // The comparison takes much longer than a step.
            if step % 10 == 0 { try #require(isEqual(), "seed \(seed), step \(step)") }
        }
        try #require(isEqual(), "seed \(seed)")
        for (slot, value) in expected {
            table.update(slot) { $0 += 1 }
            #expect(table[slot] == value + 1)
        }
    }

    @Test
    func `the slots of removed elements are used again`() {
        var table = SlotTable<Int>()
        let slots = (0..<100).map { table.insert($0) }
        for slot in slots[10..<90] { table.remove(at: slot) }
        let reused = (0..<80).map { table.insert($0) }
        #expect(Set(reused) == Set(slots[10..<90]))
        #expect(table.insert(0) == 100)
    }

    @Test(arguments: Seeds.first(4))
    func `in any order of operations, the heap has its smallest element first`(_ seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        var table = SlotTable<Item>()
        var heap = SlotHeap<Item>()
        var expected: [Int32: Int] = [:]
        for number in 0..<1500 {
            if expected.isEmpty || Int.random(in: 0..<10, using: &generator) < (number < 750 ? 6 : 4) {
                // Each value occurs once, so the order is unambiguous.
                let order = Int.random(in: 0..<1000, using: &generator) * 10_000 + number
                let slot = table.insert(Item(order: order))
                heap.insert(slot, in: &table)
                expected[slot] = order
            } else {
                let slot = try #require(expected.keys.sorted().randomElement(using: &generator))
                heap.remove(slot, in: &table)
                table.remove(at: slot)
                expected[slot] = nil
            }
            try #require(heap.first == expected.min { $0.value < $1.value }?.key, "seed \(seed), \(number)")
            #expect(heap.isEmpty == expected.isEmpty)
        }
    }
}
