internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct ExchangeTableTests {
    private func exchange() -> ExchangeProgress { ExchangeProgress(request: .everything, at: .zero) }

    @Test func `an unknown exchange is not changed`() {
        var exchanges = ExchangeTable()
        exchanges.insert(exchange(), id: 1)
        exchanges.remove(1)
        #expect(exchanges.update(1) { $0.cancel(at: .zero) } == nil)
        #expect(exchanges.isEmpty && exchanges[1] == nil)
    }

    @Test func `exchanges that have ended early are removed, and the others stay in order`() {
        var exchanges = ExchangeTable()
        let ids = (1...5).map { ExchangeID(rawValue: $0) }
        for id in ids { exchanges.insert(exchange(), id: id) }
        exchanges.update(ids[2]) {
            $0.accept(skipping: 0, end: 10, preparation: .store)
            $0.endEarly(.complete)
        }
        exchanges.removeEnded()
        #expect(exchanges.all.map(\.id) == [ids[0], ids[1], ids[3], ids[4]])
    }

    @Test func `an exchange that compares is no request, and has no segment`() {
        var exchanges = ExchangeTable()
        exchanges.insert(ExchangeProgress(request: .everything, compares: true, at: .zero), id: 1)
        #expect(!exchanges.hasRequests && exchanges.segments.isEmpty && exchanges.count == 1)
    }
}
