internal import AsyncDownloads
internal import Foundation
internal import Testing

@testable import batch

@Suite struct FetchMeterTests {
    private func request(_ text: String, _ headers: HeaderFields = [:]) throws -> DownloadRequest {
        DownloadRequest(
            from: try Address(text).url, into: URL(fileURLWithPath: "/d", isDirectory: true), headers: headers)
    }

    @Test func `Bytes of a shared transfer count for the first of its downloads`() throws {
        var meter = FetchMeter()
        meter.begin(0, try request("http://a/x#one"))
        meter.begin(1, try request("http://a/x#two"))
        #expect(meter.fetched(0, 7) == 7)
        #expect(meter.fetched(1, 7) == 0)
    }

    @Test func `Other headers make another transfer`() throws {
        var meter = FetchMeter()
        meter.begin(0, try request("http://a/x"))
        meter.begin(1, try request("http://a/x", ["Accept": "text/csv"]))
        #expect(meter.fetched(1, 7) == 7)
    }

    @Test func `Who comes after the end fetches for himself`() throws {
        var meter = FetchMeter()
        meter.begin(0, try request("http://a/x"))
        meter.end(0)
        meter.begin(1, try request("http://a/x"))
        #expect(meter.fetched(1, 7) == 7)
    }
}
