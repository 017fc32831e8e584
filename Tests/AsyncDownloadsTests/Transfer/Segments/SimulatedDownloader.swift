internal import Foundation
internal import Testing

@testable import AsyncDownloads

/// Several transfers of equal files from one host in virtual time, with the coordinator of the package.
struct SimulatedDownloader {
    private static let host = "a.example"
    private let network: SimulatedNetwork
    private let scheduler = TransferScheduler(limit: 16, limitPerHost: 16)
    private let coordinator: ConnectionCoordinator
    private let origin: Origin
    private(set) var transfers: [SimulatedTransfer]
    private let tickets: [PermitQueue.Ticket]
    /// The maximum number of transfers that tried more connections at the same time.
    private(set) var largestTryingCount = 0

    private init(_ network: SimulatedNetwork, _ mode: ConnectionController.Mode, fileCount: Int) throws {
        self.network = network
        coordinator = ConnectionCoordinator(scheduler: scheduler)
        let url = try #require(URL(string: "https://\(Self.host)/"))
        origin = try #require(Origin(url))
        transfers = (0..<fileCount).map { _ in SimulatedTransfer(network, mode) }
        let (scheduler, receiver) = (scheduler, IndifferentReceiver())
        tickets = transfers.map { _ in scheduler.request(OriginPair(host: Self.host), priority: .normal, for: receiver)
        }
        scheduler.deliverGrants()
    }

    /// Returns a downloader that has received all files.
    static func finished(
        _ network: SimulatedNetwork, _ mode: ConnectionController.Mode, fileCount: Int
    ) throws -> Self {
        var downloader = try Self(network, mode, fileCount: fileCount)
        while downloader.time < 3600, downloader.transfers.contains(where: { !$0.isComplete }) { downloader.step() }
        return downloader
    }

    /// The duration of all transfers, in seconds.
    var time: Double { transfers.map(\.time).max() ?? 0 }

    private mutating func step() {
        let running = transfers.indices.filter { !transfers[$0].isComplete }
        for index in running {
            let otherCount = running.reduce(0) { $0 + ($1 == index ? 0 : transfers[$1].count) }
            transfers[index].beginStep(otherCount: otherCount)
        }
        let rates = running.map { transfers[$0].rates }
        let factor = network.factor(Array(rates.joined()))
        for (index, rates) in zip(running, rates) { transfers[index].receive(rates, factor: factor) }
        let receivedCount = transfers.reduce(0) { $0 + $1.byteCount }
        for index in running {
            transfers[index].endStep { [coordinator, origin] transfer in
                var budget = coordinator.budget(
                    of: index, transfer.report(origin), permitHost: Self.host, at: .seconds(transfer.time))
                budget.receivedCount = receivedCount
                return budget
            }
            guard transfers[index].isComplete else { continue }
            coordinator.remove(index)
            scheduler.release(tickets[index])
        }
        let tryingCount = transfers.count { !$0.isComplete && $0.controller.isTrying }
        largestTryingCount = max(largestTryingCount, tryingCount)
    }
}
