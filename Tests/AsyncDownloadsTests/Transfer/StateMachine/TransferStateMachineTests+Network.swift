internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Transfers whose subscribers don't permit the current network.
@Suite(.endsWhenHung)
struct TransferNetworkTests {
    @Test func `a running transfer keeps its bytes while there is no network, and uses no retry`() {
        var harness = StateMachineHarness.receiving()
        harness.network(.noNetwork)
        #expect(harness.done == ["cancel 1", "close with 50", "release the permit"])
        #expect(harness.log == ["waiting connectivity"] && harness.machine.phase == .awaitingNetwork)
        harness.pass(.seconds(3600))
        #expect(harness.running.isEmpty)
        harness.forget()
        harness.finding = .success(.bytes(.sample(), IntervalSet(0..<50)))
        harness.network(nil)
        #expect(harness.requests.map { $0.headers["Range"] } == ["bytes=50-"])
        #expect(harness.machine.budget.retriesUsed == 0)
    }

    @Test(arguments: ReachableState.allCases)
    func `no request follows in any state until a network is available`(_ initial: ReachableState) {
        var harness = initial.harness()
        harness.forget()
        harness.automatic = Set(StateMachineHarness.Answer.allCases)
        harness.network(.notPermitted)
        harness.catchUp()
        harness.pass(.seconds(60))
        #expect(harness.requests.isEmpty)
        guard harness.machine.phase == .awaitingNetwork else { return }
        #expect(harness.emitted.last == "waiting networkNotPermitted")
        harness.network(nil)
        #expect(harness.requests.count == 1)
    }

    @Test func `a failure that the loss of the network explains uses no retry`() {
        for start in [StateMachineHarness.connecting(), .receiving()] {
            var harness = start
            harness.machine.setPath(.without)
            harness.lose()
            #expect(harness.machine.phase == .awaitingNetwork && harness.machine.budget.retriesUsed == 0)
        }
        var failing = StateMachineHarness.connecting()
        failing.machine.setPath(.without)
        failing.end(.failed(DownloadError(.unsupported)))
        #expect(failing.failure?.code == .unsupported)
    }

    @Test func `a permit that is granted too late is released`() {
        var harness = ReachableState.waiting.harness()
        harness.machine.setPath(.without)
        harness.feed(harness.machine.permitGranted(PermitRequestID(rawValue: 1), at: harness.now))
        #expect(harness.done.suffix(1) == ["release the permit"] && harness.machine.phase == .awaitingNetwork)
        harness.feed(harness.machine.permitGranted(PermitRequestID(rawValue: 1), at: harness.now))
        #expect(harness.machine.phase == .awaitingNetwork)
    }

    @Test func `a change of what the subscribers permit has the effect of a change of the network`() {
        var cellular = NetworkPath()
        (cellular.usesCellular, cellular.isExpensive) = (true, true)
        var harness = StateMachineHarness.receiving()
        harness.machine.setPath(cellular)
        harness.feed(harness.machine.networkChanged(at: harness.now))
        #expect(harness.done.isEmpty)
        var policies = harness.machine.policies
        policies.networkAccess.allowsCellular = false
        harness.machine.setPolicies(policies)
        harness.feed(harness.machine.networkChanged(at: harness.now))
        #expect(harness.log == ["waiting networkNotPermitted"])
        harness.machine.setPath(.without)
        harness.feed(harness.machine.networkChanged(at: harness.now))
        #expect(harness.log == ["waiting networkNotPermitted", "waiting connectivity"])
        #expect(harness.machine.present(isPaused: false, outcome: nil).map(\.summary) == ["waiting connectivity"])
        policies.networkAccess.allowsCellular = true
        harness.machine.setPolicies(policies)
        harness.machine.setPath(cellular)
        harness.feed(harness.machine.networkChanged(at: harness.now))
        #expect(harness.machine.phase == .connecting)
    }

    @Test(arguments: ["localhost", "127.0.0.1", "[::1]", "a.localhost"])
    func `requests to this machine need no network`(_ host: String) throws {
        let url = try #require(URL(string: "http://\(host):8080/file"))
        var harness = StateMachineHarness.connecting { $0.url = url }
        harness.network(.noNetwork)
        #expect(harness.done.isEmpty && harness.machine.phase == .connecting)
    }

    @Test(arguments: [
        (NetworkAccess(), [true, true, true, false]),
        (NetworkAccess(allowsCellular: false), [true, false, true, false]),
        (NetworkAccess(allowsExpensive: false), [true, false, true, false]),
        (NetworkAccess(allowsConstrained: false), [true, true, false, false]),
    ])
    func `a path is permitted by all of its properties`(_ access: NetworkAccess, _ expected: [Bool]) {
        var (cellular, constrained) = (NetworkPath(), NetworkPath())
        (cellular.usesCellular, cellular.isExpensive, constrained.isConstrained) = (true, true, true)
        let paths = [NetworkPath(), cellular, constrained, .without]
        #expect(paths.map { access.hindrance(of: $0) == nil } == expected)
        #expect(access.hindrance(of: .without) == .noNetwork)
        #expect(access.combined(with: NetworkAccess(whenUnavailable: .fail)) == NetworkAccess())
    }
}

extension NetworkPath {
    /// The path of a device without a network.
    static var without: Self {
        var path = Self()
        path.isSatisfied = false
        return path
    }
}

extension StateMachineHarness {
    /// Changes the network; nil for one that every download may use.
    mutating func network(_ hindrance: NetworkHindrance?) {
        var path = NetworkPath()
        switch hindrance {
        case .noNetwork: path = .without
        case .notPermitted:
            path.isConstrained = true
            var policies = machine.policies
            policies.networkAccess.allowsConstrained = false
            machine.setPolicies(policies)
        case nil: break
        }
        machine.setPath(path)
        feed(machine.networkChanged(at: now))
    }
}
