internal import Foundation

@testable import AsyncDownloads

/// The caller: commands, changes of the network, and results of refreshes at any time.
extension ModelRun {
    mutating func callerIntervenes() {
        commands -= 1
        switch Int.random(in: 0..<(isPassing ? 20 : 22), using: &generator) {
        case 0..<6: take("pause", machine.stop(.pause, at: now))
        case 6..<16: take("run", machine.run(at: now))
        case 16, 17: take("replace", machine.replaceAddress(freshAddress(), at: now))
        case 18, 19: changeNetwork(isAvailable: !machine.path.isSatisfied)
        case 20: take("abandon", machine.stop(.abandon, at: now))
        default: take("discard", machine.stop(.discard, at: now))
        }
    }

    mutating func changeNetwork(isAvailable: Bool) {
        var path = NetworkPath()
        path.isSatisfied = isAvailable
        machine.setPath(path)
        take(isAvailable ? "a network" : "no network", machine.networkChanged(at: now))
    }

    private mutating func freshAddress() -> SourceAddress.Replacement {
        let delay = Bool.random(using: &generator) ? Duration.seconds(Int.random(in: -2...9, using: &generator)) : nil
        let url =
            Bool.random(using: &generator) ? URL.sample("https://a.example/new") : .sample("https://b.example/new")
        return .init(url: url, headers: nil, expiresAt: delay.map { now + $0 })
    }

    mutating func callerRefreshes() {
        let number = refreshes.removeFirst()
        let isAwaited = machine.awaitedRefresh == number
        let isFailure = !isPassing && server.faults > 0 && Int.random(in: 0..<4, using: &generator) == 0
        let supply: TransferStateMachine.Supply =
            authorizations.contains(number)
            ? .authorization(.init(fields: ["X": "\(number)"], origins: [])) : .address(freshAddress())
        let result: Result<TransferStateMachine.Supply, DownloadError> =
            isFailure ? .failure(DownloadError(.urlRefreshFailed)) : .success(supply)
        let before = machine.phase
        let actions = machine.supplied(result, number, at: now)
        check(isAwaited || actions.isEmpty && machine.phase == before, "the result of a superseded refresh was used")
        take("refreshed \(number)", actions)
        if isAwaited { check(machine.awaitedRefresh != number, "the result of a refresh was not used") }
    }
}

extension TransferStateMachine {
    /// The refresh that is awaited.
    fileprivate var awaitedRefresh: RefreshID? {
        switch state {
        case .refreshing(let id), .closing(.refreshing(let id)): return id
        case .running:
            if case .refreshing(let id, _) = run.step { return id }
            return nil
        default: return nil
        }
    }
}
