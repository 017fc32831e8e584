internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Every combination of a state with an input.
@Suite(.endsWhenHung)
struct TransferStateTableTests {
    /// An input that is possible at any time.
    enum Input: String, CaseIterable, Sendable {
        case run, pause, abandon, discard, tick
    }

    /// The states, and for each of ``Input`` the state that follows before any other result; "" for no change.
    static let successors: [(ReachableState, [String])] = [
        (.ready, ["waiting", "paused", "ended", "opening", ""]),
        (.waiting, ["", "paused", "ended", "opening", ""]),
        (.opening, ["", "", "", "", ""]),
        (.connecting, ["", "draining advance", "draining advance", "draining advance", "draining retry"]),
        (.preparing, ["", "draining advance", "draining advance", "draining advance", ""]),
        (.receiving, ["", "draining advance", "draining advance", "draining advance", "draining retry"]),
        (.drainingToConnect, ["", "", "", "", ""]),
        (.drainingToRetry, ["", "", "", "", ""]),
        (.drainingToFail, ["", "", "", "", ""]),
        (.closingToRetry, ["", "", "", "", ""]),
        (.backingOff, ["", "paused", "ended", "opening", ""]),
        (.backingOffBriefly, ["", "closing keeping", "closing keeping", "closing discarding", ""]),
        (.refreshing, ["", "closing keeping", "closing keeping", "closing discarding", ""]),
        (.refreshingForLong, ["", "paused", "ended", "opening", ""]),
        (.awaitingNetwork, ["", "paused", "ended", "opening", ""]),
        (.closingToKeep, ["", "", "", "", ""]),
        (.closingToFail, ["", "", "", "", ""]),
        (.closingToDiscard, ["", "", "", "", ""]),
        (.paused, ["waiting", "", "ended", "opening", ""]),
        (.finishing, ["", "", "", "", ""]),
        (.ended, ["", "", "", "", ""]),
    ]

    @Test(arguments: successors)
    func `each input leads to the documented state`(_ initial: ReachableState, _ successors: [String]) {
        for (input, successor) in zip(Input.allCases, successors) {
            var harness = initial.harness()
            #expect(harness.machine.name == initial.rawValue)
            harness.now = .seconds(11)
            Self.give(input, to: &harness)
            let expected = successor.isEmpty ? initial.rawValue : successor
            #expect(harness.machine.name == expected, "\(input)")
        }
    }

    @Test(arguments: ReachableState.allCases)
    func `no two successive inputs trap in any state, and the transfer comes to rest`(_ initial: ReachableState) {
        for first in Input.allCases {
            for second in Input.allCases {
                var harness = initial.harness()
                harness.now = .seconds(11)
                Self.give(first, to: &harness)
                Self.give(second, to: &harness)
                harness.catchUp()
                harness.stop(.abandon)
                harness.catchUp()
                harness.end(.cancelled)
                #expect(harness.machine.phase == .ended, "\(first), \(second)")
                #expect(harness.endings.count == 1, "\(first), \(second)")
            }
        }
    }

    @Test(arguments: ReachableState.allCases)
    func `a late subscriber can join as long as it can get the file`(_ initial: ReachableState) {
        let closed: Set<ReachableState> = [.drainingToFail, .closingToFail, .closingToDiscard, .ended]
        #expect(initial.harness().machine.isJoinable == !closed.contains(initial))
    }

    @Test(arguments: ReachableState.allCases)
    func `a discard is final, and no subscriber can join`(_ initial: ReachableState) {
        var harness = initial.harness()
        guard harness.machine.phase != .ended, harness.machine.phase != .finishing else { return }
        harness.stop(.discard)
        #expect(!harness.machine.isJoinable)
        for intent in [TransferStateMachine.Intent.pause, .abandon] { harness.stop(intent) }
        harness.run()
        #expect(harness.machine.intent == .discard)
    }

    static func give(_ input: Input, to harness: inout StateMachineHarness) {
        switch input {
        case .run: harness.run()
        case .pause: harness.stop(.pause)
        case .abandon: harness.stop(.abandon)
        case .discard: harness.stop(.discard)
        case .tick: harness.feed(harness.machine.tick(at: harness.now))
        }
    }
}

/// A state that is reached in the shortest way, with no result that was not necessary for it.
enum ReachableState: String, CaseIterable, Sendable {
    case ready, waiting, opening, connecting, preparing, receiving
    case drainingToConnect = "draining advance"
    case drainingToRetry = "draining retry"
    case drainingToFail = "draining fail"
    case closingToRetry = "closing retrying"
    case backingOff = "backingOff"
    case backingOffBriefly = "backingOff with a permit"
    case refreshing = "refreshing with a permit"
    case refreshingForLong = "refreshing"
    case awaitingNetwork
    case closingToKeep = "closing keeping"
    case closingToFail = "closing failing"
    case closingToDiscard = "closing discarding"
    case paused, finishing, ended

    func harness() -> StateMachineHarness {
        var harness = StateMachineHarness {
            $0.idleTimeout = .seconds(4)
            if self == .backingOffBriefly { $0.retryPolicy.baseDelay = .milliseconds(1) }
        }
        lead(&harness)
        harness.automatic = []
        return harness
    }

    private func lead(_ harness: inout StateMachineHarness) {
        switch self {
        case .ready: return
        case .waiting: harness.automatic.remove(.permit)
        case .opening: harness.automatic.remove(.opening)
        case .preparing: harness.automatic.remove(.beginning)
        case .closingToKeep, .closingToFail, .closingToDiscard, .closingToRetry: harness.automatic.remove(.closing)
        case .finishing: harness.automatic.remove(.finishing)
        default: break
        }
        harness.run()
        switch self {
        case .ready, .waiting, .opening, .connecting: return
        case .drainingToConnect: return harness.head(302, ["Location": "/b", "Content-Length": "1"])
        case .drainingToRetry: return harness.head(503, ["Content-Length": "1"])
        case .drainingToFail: return harness.head(404, ["Content-Length": "1"])
        default: harness.head(200, ["Content-Length": "100", "ETag": "\"v1\""])
        }
        guard self != .preparing else { return }
        harness.bytes(50)
        switch self {
        case .backingOff, .backingOffBriefly, .closingToRetry: harness.lose()
        case .refreshing, .refreshingForLong:
            harness.machine.setRefreshable(true)
            harness.lose()
            harness.pass(harness.delay ?? .zero)
            harness.head(403)
            if self == .refreshingForLong { harness.pass(.seconds(2)) }
        case .awaitingNetwork: harness.network(.noNetwork)
        case .closingToKeep, .paused: harness.stop(.pause)
        case .closingToDiscard: harness.stop(.discard)
        case .closingToFail: harness.end(.failed(DownloadError(.unsupported)))
        case .finishing, .ended:
            harness.bytes(50)
            harness.end()
        default: return
        }
    }
}

extension TransferStateMachine {
    /// The name of the state, without numbers.
    var name: String {
        switch state {
        case .running:
            switch run.step {
            case .delaying(_, isPaced: false): "backingOff with a permit"
            case .refreshing: "refreshing with a permit"
            case .draining(.advance): "draining advance"
            case .draining(.refresh): "draining refresh"
            case .draining(.retry): "draining retry"
            case .draining(.fail): "draining fail"
            case .draining, .exchanging, .moving, .delaying: phase.rawValue
            }
        case .closing(.retrying): "closing retrying"
        case .closing(.keeping): "closing keeping"
        case .closing(.failing): "closing failing"
        case .closing(.discarding): "closing discarding"
        case .backingOff: "backingOff"
        default: phase.rawValue
        }
    }
}
