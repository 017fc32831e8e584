internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("A table by serial numbers", .endsWhenHung)
struct SerialTableTests {
    private typealias Table = SerialTable<StreamID, String>

    private func id(_ number: Int) -> StreamID { StreamID(rawValue: number) }

    private func table(_ numbers: [Int]) -> Table {
        var table = Table()
        for number in numbers { table.insert("\(number)", id: id(number)) }
        return table
    }

    @Test func `elements are found by their identifiers`() {
        let table = table([1, 3, 7])
        #expect(table.count == 3 && !table.isEmpty)
        #expect(table.ids == [id(1), id(3), id(7)])
        #expect(table.elements.map(\.element) == ["1", "3", "7"])
        for (number, element) in [(0, nil), (1, "1"), (2, nil), (3, "3"), (7, "7"), (8, nil)] as [(Int, String?)] {
            #expect(table[id(number)] == element)
            #expect(table.contains(id(number)) == (element != nil))
        }
        #expect(table.firstID { $0 > "1" } == id(3))
        #expect(table.firstID { $0 > "7" } == nil)
    }

    @Test func `a removed element is gone, and its identifier is not used again`() {
        var table = table([1, 3, 7])
        #expect(table.remove(id(3)) == "3")
        #expect(table.remove(id(3)) == nil)
        #expect(table.remove(id(4)) == nil)
        #expect(table[id(3)] == nil && !table.contains(id(3)))
        #expect(table.ids == [id(1), id(7)] && table.count == 2)
        #expect(table.update(id(3)) { $0 = "x" } == nil)
        #expect(table.firstID { $0 == "3" } == nil)
        table.insert("9", id: id(9))
        #expect(table.elements.map(\.element) == ["1", "7", "9"])
    }

    @Test func `elements are in the order of their identifiers, however they were added`() {
        var table = table([3, 1, 7, 5])
        #expect(table.elements.map(\.element) == ["1", "3", "5", "7"])
        #expect(table.first == "1")
        table.remove(id(1))
        table.removeAll { $1 == "5" }
        #expect(table.ids == [id(3), id(7)] && table.count == 2)
        #expect(table.first == "3")
        #expect(table[id(7)] == "7")
    }

    @Test func `elements are changed in place`() {
        var table = table([1, 2, 3])
        table.remove(id(2))
        #expect(
            table.update(id(3)) { (element: inout String) in
                element += "!"
                return element.count
            } == 2)
        table.updateAll { $1 += "?" }
        #expect(table.elements.map(\.element) == ["1?", "3!?"])
    }

    @Test func `random changes have the results of a dictionary`() {
        var random = SplitMix64(seed: 1)
        var (table, expected, last) = (Table(), [Int: String](), 0)
        for _ in 0..<20_000 {
            if Bool.random(using: &random) || Int.random(in: 0..<400, using: &random) == 0 {
                last += Int.random(in: 1...3, using: &random)
                table.insert("\(last)", id: id(last))
                expected[last] = "\(last)"
            } else {
                let number = Int.random(in: max(0, last - 300)...last, using: &random)
                #expect(table.remove(id(number)) == expected.removeValue(forKey: number))
            }
            #expect(table.count == expected.count)
        }
        #expect(table.ids.map(\.rawValue) == expected.keys.sorted())
        for number in expected.keys.sorted() { #expect(table.remove(id(number)) == "\(number)") }
        #expect(table.isEmpty && table.ids.isEmpty)
        table.insert("x", id: id(last + 1))
        #expect(table[id(last + 1)] == "x")
    }
}
