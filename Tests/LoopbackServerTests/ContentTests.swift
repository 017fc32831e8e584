import TestSupport
import Testing

@testable import LoopbackServer

@Suite(.endsWhenHung)
struct ContentTests {
    private let content = Content(seed: 7, length: 20_000)

    @Test(arguments: [
        0..<0, 0..<1, 3..<8, 5..<17, 4095..<4097, 4096..<8192, 1000..<19_999, 4100..<4103, 0..<20_000,
    ])
    func `the bytes of a range equal a slice of the whole content`(range: Range<Int64>) {
        let whole = content.bytes(in: 0..<20_000)
        let bytes = content.bytes(in: range)
        #expect(bytes == Array(whole[Int(range.lowerBound)..<Int(range.upperBound)]))
        #expect(bytes.withUnsafeBytes { content.matches($0, at: range.lowerBound) })
    }

    @Test(arguments: [1, 8, 4096, 8192] as [Int64])
    func `bytes of another offset or seed do not match`(shift: Int64) {
        let bytes = content.bytes(in: shift..<(shift + 64))
        #expect(!bytes.withUnsafeBytes { content.matches($0, at: 0) })
        #expect(!bytes.withUnsafeBytes { Content(seed: 8, length: 20_000).matches($0, at: shift) })
    }

    @Test(arguments: [0, 4095, 4096, 9999])
    func `bytes with one changed byte do not match`(index: Int) {
        var bytes = content.bytes(in: 0..<10_000)
        bytes[index] ^= 1
        #expect(!bytes.withUnsafeBytes { content.matches($0, at: 0) })
    }

    @Test func `all blocks differ from each other`() {
        let blocks = (0..<1000).map { content.bytes(in: ($0 * 4096)..<($0 * 4096 + 4096)) }
        #expect(Set(blocks).count == 1000)
    }

    @Test func `bytes are defined far beyond the length`() {
        let offset: Int64 = 1 << 60
        #expect(content.bytes(in: offset..<(offset + 32)).withUnsafeBytes { content.matches($0, at: offset) })
    }
}
