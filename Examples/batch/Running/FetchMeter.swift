internal import AsyncDownloads
internal import Foundation

/// Counts the bytes of a shared transfer once: for the download that came first.
///
/// A handle does not say whether it joined a running transfer, so that is told by what identifies one: the URL without
/// its fragment, and the headers.
struct FetchMeter: Sendable {
    private struct Resource: Hashable {
        var url: String
        var headers: HeaderFields
    }

    private var resources: [Int: Resource] = [:]
    /// The downloads of each resource that are open, in the order in which they came.
    private var open: [Resource: [Int]] = [:]
    private var joined: Set<Int> = []

    /// Notes that a download has begun.
    mutating func begin(_ id: Int, _ request: DownloadRequest) {
        let url = request.url.absoluteString.prefix { $0 != "#" }
        let resource = Resource(url: String(url), headers: request.headers)
        resources[id] = resource
        if open[resource] != nil { joined.insert(id) }
        open[resource, default: []].append(id)
    }

    /// The part of its transfer's `count` bytes that counts for a download.
    func fetched(_ id: Int, _ count: Int64) -> Int64 {
        joined.contains(id) ? 0 : count
    }

    /// Forgets a download that has ended.
    mutating func end(_ id: Int) {
        joined.remove(id)
        guard let resource = resources.removeValue(forKey: id) else { return }
        open[resource]?.removeAll { $0 == id }
        if open[resource]?.isEmpty == true { open[resource] = nil }
    }
}
