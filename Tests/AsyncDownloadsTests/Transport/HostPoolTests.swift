internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

@Suite(.endsWhenHung)
struct HostPoolTests {
    @Test(arguments: [(1, 256), (6, 256), (64, 2048), (256, 8192), (Int.max, 1 << 20)])
    func `every exchange of every transfer has a connection`(_ transfers: Int, _ size: Int) {
        #expect(HostPool.size(forTransfers: transfers) == size)
        if transfers < 1000 { #expect(size >= transfers * OriginConnections.maximumCount) }
    }
}
