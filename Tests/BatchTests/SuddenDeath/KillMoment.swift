internal import LoopbackServer

@testable internal import AsyncDownloads

/// The moment at which a run is killed: an observable event, and a delay after it.
struct KillMoment: Sendable, CustomStringConvertible {
    enum Phase: Sendable, CaseIterable {
        /// The request was sent, and the head of the response is held back.
        case beforeHead
        /// The server has sent a part of the body, and continues to send.
        case body
        /// The connection was lost, and a checkpoint is being saved.
        case checkpoint
        /// The run has received SIGINT, and saves its bytes.
        case pause
        /// The last byte has arrived; the file is verified, synced, and renamed.
        case finish
    }

    let phase: Phase
    /// The number of bytes that the server sends before the event.
    let advance: Int64
    /// The maximum number of bytes that the server sends after the event.
    let excess: Int64
    let isThrottled: Bool
    /// The delay after the event, which varies the point at which the kill interrupts the run.
    let spread: Duration

    /// Generates the moment for a run that starts with `kept` of `length` bytes, when `others` kills are to follow it.
    init(after kept: Int64, of length: Int64, others: Int, using generator: inout SplitMix64) {
        let room = length - kept - 1
        let phases: [Phase] = [.beforeHead, .body, .body, .body, .checkpoint, .pause, .finish]
        let phase = phases.randomElement(using: &generator) ?? .body
        self.phase = room < 1 ? .finish : phase
        advance =
            room < 1 ? 0 : Int64.random(in: 1...max(1, min(room, 2 * room / Int64(others + 1))), using: &generator)
        excess = Int64.random(in: 0...max(0, min(room - advance, 8 << 20)), using: &generator)
        isThrottled = Int.random(in: 0..<3, using: &generator) == 0
        let longest = self.phase == .finish ? 200_000 : 6_000
        spread = .microseconds(Int.random(in: 0...longest, using: &generator))
    }

    /// Returns the server's script for a run that requests `window` bytes at a time, or all bytes if `window` is nil.
    func script(window: Int64?) -> [Step] {
        let pace: [Fault] = isThrottled ? [.throttle(bytesPerSecond: 150_000_000)] : []
        func steps(_ count: Int64, _ last: (Int64) -> Fault) -> [Step] {
            let whole = window.map { count / $0 } ?? 0
            return Array(repeating: Step(pace), count: Int(whole)) + [
                Step(pace + [last(count - whole * (window ?? 0))])
            ]
        }
        switch phase {
        case .beforeHead: return [[.holdHead]]
        case .body: return steps(advance + excess) { .stall(after: $0) }
        case .checkpoint: return steps(advance) { .cut(after: $0) }
        case .pause: return steps(advance) { .stall(after: $0) }
        case .finish: return []
        }
    }

    var description: String { "\(phase), after \(advance) bytes and \(spread)" }
}
