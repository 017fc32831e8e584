internal import AsyncDownloads
internal import Foundation

/// A human-readable line about an event.
struct PlainLine: Sendable, Hashable {
    /// The importance of a line, which determines where it is shown.
    enum Weight: Sendable, Hashable, Comparable {
        /// The line is shown only without a live display.
        case ordinary
        /// The line is also shown above a live display.
        case lasting
        /// The line is always shown.
        case error
    }

    let weight: Weight
    private let verb: String
    private let text: String

    /// Returns the weight of an event's line; nil if the event has none.
    private static func weight(of event: RunEvent) -> Weight? {
        switch event.what {
        case .failure: .error
        case .success(.restarted), .success(.finished): .lasting
        case .success(.started), .success(.resumed), .success(.retrying), .success(.omitted): .ordinary
        case .success(.waiting) where event.waitingTime != nil: .ordinary
        case .success: nil
        }
    }

    /// Creates the line for an event; nil if the event has no line, or a line of less weight.
    ///
    /// - Parameter keepsFiles: Whether existing files are kept regardless of their contents.
    init?(_ event: RunEvent, atLeast leastWeight: Weight = .ordinary, keepsFiles: Bool = false) {
        guard let weight = Self.weight(of: event), weight >= leastWeight else { return nil }
        let name = event.item.name
        switch event.what {
        case .failure(let error):
            self.init(weight, "failed", "\(error)")
        case .success(.started(let total, let isResumable, _, _)):
            let length = total.map { Units.bytes($0) } ?? "of unknown length"
            self.init(weight, "started", "\(name), \(length)\(isResumable ? "" : ", not resumable")")
        case .success(.resumed(let offset)):
            self.init(weight, "resumed", "\(name) at byte \(offset)")
        case .success(.restarted(let reason, let discarded)):
            self.init(weight, "restarted", "\(name), \(Units.bytes(discarded)) discarded: \(reason)")
        case .success(.retrying(let attempt, let delay, let error)):
            self.init(weight, "retrying", "\(name) \(Self.time(delay)), attempt \(attempt) after: \(error)")
        case .success(.waiting):
            guard let wait = HostWaits.Wait(event) else { return nil }
            self.init(weight, "waiting", wait.text(at: event.time))
        case .success(.omitted(let count)):
            self.init(weight, "omitted", "\(name), \(Units.count(count, "event"))")
        case .success(.finished(let file)) where file.isReused:
            let verb = keepsFiles ? "exists" : "unchanged"
            self.init(weight, verb, "\(event.path(of: file)), \(Units.bytes(file.byteCount))")
        case .success(.finished(let file)):
            let work = "\(Units.bytes(file.byteCount)) in \(Units.seconds(event.elapsed))"
            let fetched = event.fetched == file.byteCount ? "" : ", \(Units.bytes(event.fetched)) fetched"
            self.init(weight, "finished", "\(event.path(of: file)), \(work)\(fetched)")
        case .success:
            return nil
        }
    }

    private init(_ weight: Weight, _ verb: String, _ text: String) {
        self.weight = weight
        self.verb = verb
        self.text = text.neutralized
    }

    private static func time(_ delay: Duration) -> String {
        delay > .zero ? "in \(Units.seconds(delay))" : "now"
    }

    /// Returns the line without a line terminator.
    func text(usesColor: Bool) -> String {
        let mark = verb.padded(to: 10)
        guard usesColor else { return mark + text }
        switch weight {
        case .error: return "\u{1B}[31m\(mark)\u{1B}[0m\(text)"
        case .lasting where verb == "finished": return "\u{1B}[32m\(mark)\u{1B}[0m\(text)"
        default: return mark + text
        }
    }
}
