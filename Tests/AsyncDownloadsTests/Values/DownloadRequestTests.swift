internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Requests as values whose copies share their contents.
@Suite(.endsWhenHung)
struct DownloadRequestTests {
    private let request = DownloadRequest(
        from: .sample("https://a.example/x"), to: URL(fileURLWithPath: "/d/x"), priority: .high)

    @Test
    func `a copy that is changed leaves the original as it is`() {
        var copy = request
        copy.url = .sample("https://a.example/y")
        copy.headers["Accept"] = "text/csv"
        copy.account = "7"
        #expect(request.url == .sample("https://a.example/x"))
        #expect(request.headers.isEmpty)
        #expect(request.account == nil)
        #expect(copy.url == .sample("https://a.example/y"))
        #expect(copy.headers["Accept"] == "text/csv")
        #expect(copy.account == "7")
        var second = copy
        second.identity = "film"
        second.account = nil
        #expect(copy.account == "7")
        #expect(copy.identity == nil)
        #expect(second.identity == "film")
    }

    @Test
    func `requests are equal if all of their values are`() {
        var copy = request
        #expect(copy == request)
        copy.deadline = .seconds(3)
        #expect(copy != request)
        copy.deadline = nil
        #expect(copy == request, "an option that was set and removed")
        #expect(copy.hashValue == request.hashValue)
        let changes: [(inout DownloadRequest) -> Void] = [
            { $0.url = .sample("https://a.example/y") }, { $0.destination = .memory }, { $0.headers["A"] = "1" },
            { $0.nonsecretHeaders = ["A"] }, { $0.account = "1" }, { $0.checksum = .sha256("00") },
            { $0.priority = .low }, { $0.maximumByteCount = 1 }, { $0.connectionCount = 1 },
            { $0.bandwidthLimit = 1 },
            { $0.retryPolicy = .never },
            { $0.idleTimeout = .seconds(1) }, { $0.deadline = .seconds(1) }, { $0.duplicatePolicy = .reject },
            { $0.refreshURL = URLRefresh { FreshURL($0.url) } }, { $0.urlExpiration = Date() }, { $0.identity = "i" },
            { $0.partialInUsePolicy = .fail }, { $0.contentChangePolicy = .verify },
        ]
        let changed = changes.map { change in
            var copy = request
            change(&copy)
            return copy
        }
        #expect(Set(changed + [request]).count == changes.count + 1)
    }

    @Test
    func `a request is as small as a reference`() {
        #expect(MemoryLayout<DownloadRequest>.size == MemoryLayout<AnyObject>.size)
    }
}
