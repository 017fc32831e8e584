import Testing

@testable import benchmark

/// The drawing of lives.
@Suite(.timeLimit(.minutes(15))) struct LifeTests {
    @Test func `A life is given by its seed and number`() {
        let first = (0..<100).map { Life(number: $0, seed: 7, resourceCount: 48) }
        #expect(first == (0..<100).map { Life(number: $0, seed: 7, resourceCount: 48) })
        #expect(first != (0..<100).map { Life(number: $0, seed: 8, resourceCount: 48) })
        #expect(Set(first).count == 100)
    }
}
