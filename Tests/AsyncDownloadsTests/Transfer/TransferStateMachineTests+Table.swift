internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("TransferStateMachine, every state and every input", .endsWhenHung)
struct TransferStateTableTests {
    /// What callers and the clock may do at any time.
    enum Input: String, CaseIterable, Sendable {
        case run, pause, park, discard, tick
    }

    /// Each state, and where each of ``Input`` leads from there before anything else answers; "" for nowhere.
    static let successors: [(Standing, [String])] = [
        (.ready, ["waiting", "paused", "ended", "opening", ""]),
        (.waiting, ["", "paused", "ended", "opening", ""]),
        (.opening, ["", "", "", "", ""]),
        (.connecting, ["", "draining connect", "draining connect", "draining connect", "draining retry"]),
        (.preparing, ["", "draining connect", "draining connect", "draining connect", ""]),
        (.receiving, ["", "draining connect", "draining connect", "draining connect", "draining retry"]),
        (.drainingToConnect, ["", "", "", "", ""]),
        (.drainingToRetry, ["", "", "", "", ""]),
        (.drainingToFail, ["", "", "", "", ""]),
        (.closingToRetry, ["", "", "", "", ""]),
        (.backingOff, ["", "paused", "ended", "opening", ""]),
        (.backingOffBriefly, ["", "closing keeping", "closing keeping", "closing discarding", ""]),
        (.refreshing, ["", "closing keeping", "closing keeping", "closing discarding", ""]),
        (.refreshingForLong, ["", "paused", "ended", "opening", ""]),
        (.closingToKeep, ["", "", "", "", ""]),
        (.closingToFail, ["", "", "", "", ""]),
        (.closingToDiscard, ["", "", "", "", ""]),
        (.paused, ["waiting", "", "ended", "opening", ""]),
        (.finishing, ["", "", "", "", ""]),
        (.ended, ["", "", "", "", ""]),
    ]

    @Test("an input leads where the state's documentation says, and nowhere else", arguments: successors)
    func successor(_ standing: Standing, _ successors: [String]) {
        for (input, successor) in zip(Input.allCases, successors) {
            var stage = standing.stage()
            #expect(stage.machine.name == standing.rawValue)
            stage.now = .seconds(11)
            Self.give(input, to: &stage)
            let expected = successor.isEmpty ? standing.rawValue : successor
            #expect(stage.machine.name == expected, "\(input)")
        }
    }

    @Test("two inputs in a row trap in no state, and all comes to rest", arguments: Standing.allCases)
    func pairs(_ standing: Standing) {
        for first in Input.allCases {
            for second in Input.allCases {
                var stage = standing.stage()
                stage.now = .seconds(11)
                Self.give(first, to: &stage)
                Self.give(second, to: &stage)
                stage.catchUp()
                stage.stop(.park)
                stage.catchUp()
                stage.end(.cancelled)
                #expect(stage.machine.state == .ended, "\(first), \(second)")
                #expect(stage.endings.count == 1, "\(first), \(second)")
            }
        }
    }

    @Test("who comes late may join while the file can still be his", arguments: Standing.allCases)
    func joinable(_ standing: Standing) {
        let closed: Set<Standing> = [.drainingToFail, .closingToFail, .closingToDiscard, .ended]
        #expect(standing.stage().machine.isJoinable == !closed.contains(standing))
    }

    @Test("a discard is final: nobody joins it, and nothing takes it back", arguments: Standing.allCases)
    func discardIsFinal(_ standing: Standing) {
        var stage = standing.stage()
        guard stage.machine.state != .ended, stage.machine.state != .finishing else { return }
        stage.stop(.discard)
        #expect(!stage.machine.isJoinable)
        for wish in [TransferStateMachine.Wish.pause, .park] { stage.stop(wish) }
        stage.run()
        #expect(stage.machine.wish == .discard)
    }

    private static func give(_ input: Input, to stage: inout MachineStage) {
        switch input {
        case .run: stage.run()
        case .pause: stage.stop(.pause)
        case .park: stage.stop(.park)
        case .discard: stage.stop(.discard)
        case .tick: stage.feed(stage.machine.tick(at: stage.now))
        }
    }
}

/// A state, reached by the shortest way, with nothing answered that was not needed for it.
enum Standing: String, CaseIterable, Sendable {
    case ready, waiting, opening, connecting, preparing, receiving
    case drainingToConnect = "draining connect"
    case drainingToRetry = "draining retry"
    case drainingToFail = "draining fail"
    case closingToRetry = "closing retrying"
    case backingOff = "backingOff"
    case backingOffBriefly = "backingOff with a permit"
    case refreshing = "refreshing with a permit"
    case refreshingForLong = "refreshing"
    case closingToKeep = "closing keeping"
    case closingToFail = "closing failing"
    case closingToDiscard = "closing discarding"
    case paused, finishing, ended

    func stage() -> MachineStage {
        var stage = MachineStage {
            $0.idleTimeout = .seconds(4)
            if self == .backingOffBriefly { $0.retryPolicy.baseDelay = .milliseconds(1) }
        }
        lead(&stage)
        stage.automatic = []
        return stage
    }

    private func lead(_ stage: inout MachineStage) {
        switch self {
        case .ready: return
        case .waiting: stage.automatic.remove(.permit)
        case .opening: stage.automatic.remove(.opening)
        case .preparing: stage.automatic.remove(.beginning)
        case .closingToKeep, .closingToFail, .closingToDiscard, .closingToRetry: stage.automatic.remove(.closing)
        case .finishing: stage.automatic.remove(.finishing)
        default: break
        }
        stage.run()
        switch self {
        case .ready, .waiting, .opening, .connecting: return
        case .drainingToConnect: return stage.head(302, ["Location": "/b", "Content-Length": "1"])
        case .drainingToRetry: return stage.head(503, ["Content-Length": "1"])
        case .drainingToFail: return stage.head(404, ["Content-Length": "1"])
        default: stage.head(200, ["Content-Length": "100", "ETag": "\"v1\""])
        }
        guard self != .preparing else { return }
        stage.bytes(50)
        switch self {
        case .backingOff, .backingOffBriefly, .closingToRetry: stage.lose()
        case .refreshing, .refreshingForLong:
            stage.machine.demands.isRefreshable = true
            stage.lose()
            stage.pass(stage.delay ?? .zero)
            stage.head(403)
            if self == .refreshingForLong { stage.pass(.seconds(2)) }
        case .closingToKeep, .paused: stage.stop(.pause)
        case .closingToDiscard: stage.stop(.discard)
        case .closingToFail: stage.end(.failed(DownloadError(.unsupported)))
        case .finishing, .ended:
            stage.bytes(50)
            stage.end()
        default: return
        }
    }
}

extension TransferStateMachine {
    /// The state's name, without numbers.
    var name: String {
        switch state {
        case .closing(.retrying): "closing retrying"
        case .backingOff where isPartialOpen: "backingOff with a permit"
        case .refreshing: isPartialOpen ? "refreshing with a permit" : "refreshing"
        case .draining(let next): "draining \(next)"
        case .closing(let closing): "closing \(closing)"
        case .backingOff: "backingOff"
        case .preparing: "preparing"
        default: "\(state)"
        }
    }
}
