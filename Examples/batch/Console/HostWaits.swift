internal import AsyncDownloads
internal import Foundation

/// The hosts that downloads are waiting for, with the times until which they wait.
struct HostWaits: Sendable {
    /// A wait for a host that can't be reached, or that has asked for a delay.
    struct Wait: Sendable, Hashable {
        let host: String
        let reason: String
        /// The time since the start of the run at which the downloads continue.
        var end: Duration

        /// - Parameter event: The event; the result is nil if it isn't a wait for a host.
        init?(_ event: RunEvent) {
            guard case .success(.waiting(let reason)) = event.what, let delay = event.waitingTime else { return nil }
            host = event.item.address.url.host() ?? ""
            self.reason = reason.isCoolDown ? "which asks to wait" : "which can't be reached"
            end = event.time + delay
        }

        /// Returns the text that describes the wait.
        func text(at now: Duration) -> String {
            "for \(host), \(reason), \(Units.clock(end - now + .milliseconds(999)))"
        }
    }

    /// The time after the end of a wait in which the next one still belongs to it: the longest delay between two attempts to
    /// reach a host.
    private static let memory = Duration.seconds(5)

    private var waits: [String: Wait] = [:]
    /// The number of entries at which those that have ended are removed.
    private var nextCleaning = 64

    /// Returns the present waits, in the order of their ends.
    func present(at now: Duration) -> [Wait] { waits.values.filter { $0.end > now }.sorted { $0.end < $1.end } }

    /// Records a wait, and returns whether no download was waiting for the host before.
    mutating func insert(_ wait: Wait, at now: Duration) -> Bool {
        let previous = waits[wait.host]
        waits[wait.host] = wait
        if waits.count >= nextCleaning {
            waits = waits.filter { $0.value.end + Self.memory > now }
            nextCleaning = max(64, 2 * waits.count)
        }
        return previous.map { now > $0.end + Self.memory } ?? true
    }

    /// Records that a host has been reached.
    mutating func remove(_ host: String?) {
        guard !waits.isEmpty, let host else { return }
        waits[host] = nil
    }
}
