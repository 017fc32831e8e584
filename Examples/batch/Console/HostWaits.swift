internal import AsyncDownloads
internal import Foundation

/// The servers that downloads are waiting for, with the times until which they wait.
struct HostWaits: Sendable {
    /// A wait for a server that can't be reached, or that has asked for a delay.
    struct Wait: Sendable, Hashable {
        /// The scheme, the host, and the port of the server.
        fileprivate let origin: [String]
        /// The host of the server and, unless it is the default one, the port.
        let name: String
        let reason: String
        /// The time since the start of the run at which the downloads continue.
        var end: Duration

        /// - Parameter event: The event; the result is nil if it isn't a wait for a server.
        init?(_ event: RunEvent) {
            guard case .success(.waiting(let reason)) = event.what, let delay = event.waitingTime else { return nil }
            let url = event.item.address.url
            origin = HostWaits.origin(of: url)
            name = (url.host() ?? "") + (url.hasDefaultPort ? "" : url.port.map { ":\($0)" } ?? "")
            self.reason = reason.isCoolDown ? "which asks to wait" : "which can't be reached"
            end = event.time + delay
        }

        /// Returns the text that describes the wait.
        func text(at now: Duration) -> String {
            "for \(name), \(reason), \(Units.clock(end - now + .milliseconds(999)))"
        }
    }

    /// The time after the end of a wait in which the next one still belongs to it: the longest delay between two attempts to
    /// reach a server.
    private static let memory = Duration.seconds(5)

    private var waits: [[String]: Wait] = [:]
    /// The number of entries at which those that have ended are removed.
    private var nextCleaning = 64

    /// Returns the present waits, in the order of their ends.
    func present(at now: Duration) -> [Wait] { waits.values.filter { $0.end > now }.sorted { $0.end < $1.end } }

    /// Records a wait, and returns whether no download was waiting for the server before.
    mutating func insert(_ wait: Wait, at now: Duration) -> Bool {
        let previous = waits[wait.origin]
        waits[wait.origin] = wait
        if waits.count >= nextCleaning {
            waits = waits.filter { $0.value.end + Self.memory > now }
            nextCleaning = max(64, 2 * waits.count)
        }
        return previous.map { now > $0.end + Self.memory } ?? true
    }

    /// Records that the server of a URL has been reached.
    mutating func remove(_ url: URL) {
        guard !waits.isEmpty else { return }
        waits[Self.origin(of: url)] = nil
    }

    private static func origin(of url: URL) -> [String] {
        [url.scheme, url.host(), url.hasDefaultPort ? nil : url.port.map(String.init)].map { $0?.lowercased() ?? "" }
    }
}

extension URL {
    /// Whether the port is the default one of the scheme.
    fileprivate var hasDefaultPort: Bool { port == nil || port == (scheme?.lowercased() == "https" ? 443 : 80) }
}
