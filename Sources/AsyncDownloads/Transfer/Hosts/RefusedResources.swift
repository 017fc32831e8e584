internal import struct Foundation.URL

/// Identifies a URL among the requested URLs of an origin, within one process.
struct ResourceID: Sendable, Hashable {
    private let hash: Int

    init(_ url: URL) {
        hash = url.absoluteString.hashValue
    }
}

/// The resources that an origin has refused or failed to handle, with the times until which no request for them is sent,
/// which may have passed; a limited number is recorded.
struct RefusedResources: Sendable {
    private static let maximumCount = 256

    private var ends: [ResourceID: Duration] = [:]

    /// Returns whether any resource is refused now.
    func isAnyRefused(at now: Duration) -> Bool { ends.contains { now < $0.value } }

    /// Returns whether a resource was refused, now or earlier.
    func contains(_ resource: @autoclosure () -> ResourceID?) -> Bool { lastEnd(of: resource()) != nil }

    /// Returns the time until which a resource is refused; nil if it isn't.
    func end(of resource: @autoclosure () -> ResourceID?, at now: Duration) -> Duration? {
        lastEnd(of: resource()).flatMap { now < $0 ? $0 : nil }
    }

    private func lastEnd(of resource: @autoclosure () -> ResourceID?) -> Duration? {
        // Most origins refuse no resource, and the identifier takes some time.
        ends.isEmpty ? nil : resource().flatMap { ends[$0] }
    }

    /// Records the refusal of a resource, unless the maximum number of resources is refused now.
    mutating func insert(_ resource: ResourceID, until end: Duration, at now: Duration) {
        if ends.count >= Self.maximumCount { ends = ends.filter { now < $0.value } }
        if ends.count < Self.maximumCount || ends[resource] != nil { ends[resource] = max(end, ends[resource] ?? end) }
    }
}
