internal import struct Foundation.URL

/// A request's target origin and its originally requested origin, which differ after a redirect to another origin.
///
/// A refusal after such a redirect says nothing about direct requests to the same origin, because any server can
/// redirect there. The hosts' limits on transfers and requests apply to both.
struct OriginPair: Sendable, Hashable {
    private struct Origins: Sendable, Hashable {
        let requested: Origin?
        let target: Origin?
    }

    /// Stored in one allocation, because the state of every transfer contains the pair several times.
    private let origins: CopyOnWrite<Origins>

    /// - Parameters:
    ///   - requested: The URL before redirects.
    ///   - target: The URL that the request goes to.
    init(requested: URL, target: URL) {
        let origin = Origin(requested)
        origins = CopyOnWrite(Origins(requested: origin, target: target == requested ? origin : Origin(target)))
    }

    /// Creates the pair of a direct request.
    init(_ url: URL) {
        self.init(requested: url, target: url)
    }

    /// The origin that the request goes to; nil if its URL has no origin, in which case the request will fail.
    var target: Origin? { origins.value.target }

    /// Whether no redirect has led to another origin.
    var isDirect: Bool { origins.value.requested == origins.value.target }

    /// The host that the request goes to.
    var host: String { target?.host ?? "" }

    /// The host that was requested.
    var requestedHost: String { origins.value.requested?.host ?? "" }
}
