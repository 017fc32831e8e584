internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct ExchangeSetTests {
    private func exchange() -> ExchangeProgress { ExchangeProgress(request: .everything, at: .zero) }

    @Test func `identifiers are never used again`() {
        var exchanges = ExchangeSet()
        let first = exchanges.add(exchange())
        #expect(exchanges.remove(first) != nil)
        #expect(exchanges.remove(first) == nil)
        let second = exchanges.add(exchange())
        #expect(first != second)
        #expect(exchanges[first] == nil && exchanges[second] != nil)
    }

    @Test func `an unknown exchange is not changed`() {
        var exchanges = ExchangeSet()
        let id = exchanges.add(exchange())
        _ = exchanges.remove(id)
        #expect(exchanges.update(id) { $0.cancel(at: .zero) } == nil)
        #expect(exchanges.isEmpty)
    }

    @Test func `exchanges that have ended early are removed, and the others stay in order`() {
        var exchanges = ExchangeSet()
        let ids = (0..<5).map { _ in exchanges.add(exchange()) }
        exchanges.update(ids[2]) {
            $0.accept(skipping: 0, end: 10, preparation: .store)
            $0.endEarly(.complete)
        }
        exchanges.removeEnded()
        #expect(exchanges.all.map(\.id) == [ids[0], ids[1], ids[3], ids[4]])
    }

    @Test func `a permit is released once`() {
        var permit = PermitHolding()
        #expect(permit.release() == false)
        let first = permit.request(for: "a.example")
        #expect(permit.host == "a.example")
        let second = permit.request(for: "b.example")
        #expect(first != second && permit.host == "b.example")
        #expect(permit.release() == true)
        #expect(permit.release() == false && permit.host == nil)
    }
}
