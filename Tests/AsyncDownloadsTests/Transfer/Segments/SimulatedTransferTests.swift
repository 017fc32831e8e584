internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Compares the automatic number of connections with fixed ones in virtual time.
@Suite("Automatic number of connections", .endsWhenHung)
struct SimulatedTransferTests {
    static let networks = [
        SimulatedNetwork("capped at 1 MB/s") { ($0.connectionRates, $0.leastShare) = ([1], 0.94) },
        SimulatedNetwork("capped at 20 MB/s"),
        SimulatedNetwork("capped at 20 MB/s, three minutes") { ($0.fileTime, $0.leastShare) = (180, 0.98) },
        SimulatedNetwork("capped on a link of 110 MB/s") { ($0.linkRate, $0.fixedCounts) = (110, [6]) },
        SimulatedNetwork("capped on a link of 45 MB/s") { ($0.linkRate, $0.fixedCounts) = (45, [3]) },
        SimulatedNetwork("connections of different rates") { $0.connectionRates = [8, 20, 2, 30, 5] },
        SimulatedNetwork("200 ms before each response") { ($0.setup, $0.rampTime, $0.leastShare) = (0.2, 1, 0.9) },
        SimulatedNetwork("200 ms before each response, three minutes") {
            ($0.setup, $0.rampTime, $0.fileTime, $0.leastShare) = (0.2, 1, 180, 0.96)
        },
        SimulatedNetwork("bursts") { ($0.isBursty, $0.leastShare) = (true, 0.87) },
        SimulatedNetwork("bursts, three minutes") { ($0.isBursty, $0.fileTime, $0.leastShare) = (true, 180, 0.94) },
        SimulatedNetwork("at most 3 connections") { ($0.limit, $0.fixedCounts) = (3, [3]) },
        SimulatedNetwork("at most 1 connection") {
            ($0.limit, $0.fixedCounts, $0.leastShare, $0.largestCount) = (1, [1], 0.98, 1)
        },
        SimulatedNetwork("one connection fills the link") {
            ($0.connectionRates, $0.linkRate, $0.fixedCounts) = ([100], 100, [1])
            ($0.leastShare, $0.largestCount) = (0.98, 2)
        },
        SimulatedNetwork("one connection fills the link, three seconds") {
            ($0.connectionRates, $0.linkRate, $0.fixedCounts) = ([100], 100, [1])
            ($0.fileTime, $0.largestCount) = (3, 2)
        },
        SimulatedNetwork("a fast link that gets worse") {
            ($0.connectionRates, $0.linkRate, $0.linkFactor, $0.fixedCounts) = ([1000], 1000, 0.7, [1])
            ($0.leastShare, $0.largestCount) = (0.98, 2)
        },
        SimulatedNetwork("a link that gets worse with many") {
            ($0.linkRate, $0.linkFactor, $0.fixedCounts) = (300, 0.9, [6, 8])
        },
    ]

    @Test(arguments: networks)
    func `the automatic number comes close to the best fixed one`(network: SimulatedNetwork) {
        let best = network.fixedCounts.map { SimulatedTransfer.finished(network, .fixed($0)).time }.min() ?? 0
        let automatic = SimulatedTransfer.finished(network, .automatic(maximum: 16))
        #expect(automatic.isComplete)
        #expect(best / automatic.time >= network.leastShare)
        #expect(automatic.largestCount <= network.largestCount)
    }

    @Test func `a second file from the same host needs no climb`() throws {
        let network = SimulatedNetwork("capped")
        let first = SimulatedTransfer.finished(network, .automatic(maximum: 16))
        let number = try #require(first.controller.effectiveCount)
        let second = SimulatedTransfer.finished(network, .automatic(maximum: 16), effectiveCount: number)
        let fixed = SimulatedTransfer.finished(network, .fixed(16))
        #expect(fixed.time / second.time >= 0.97)
    }

    @Test(arguments: [(2, 20.0), (8, 10.0)])
    func `several files share the connections that gain, and one at a time tries more`(
        fileCount: Int, fileTime: Double
    ) throws {
        let networks = [
            SimulatedNetwork("capped") { $0.fileTime = fileTime },
            SimulatedNetwork("capped on a link") { ($0.linkRate, $0.fileTime) = (110, fileTime) },
        ]
        for network in networks {
            let share = try SimulatedDownloader.finished(network, .fixed(16 / fileCount), fileCount: fileCount)
            let automatic = try SimulatedDownloader.finished(network, .automatic(maximum: 16), fileCount: fileCount)
            let isComplete = automatic.transfers.allSatisfy(\.isComplete)
            #expect(isComplete)
            #expect(automatic.largestTryingCount == 1)
            #expect(share.time / automatic.time >= 0.75, "\(network), \(fileCount) files: \(automatic.time) s")
        }
    }

    @Test(
        "a file whose server limits each connection takes little longer than with the best number",
        arguments: [
            (rate: 10, setup: 0.05, mebibytes: 200, ratio: 1.5), (20, 0.001, 200, 1.5),
            (10, 0.05, 1024, 1.2), (20, 0.001, 1024, 1.2),
        ])
    func capped(row: (rate: Int, setup: Double, mebibytes: Int, ratio: Double)) {
        let network = SimulatedNetwork("\(row.rate) MB/s") { network in
            (network.connectionRates, network.setup, network.rampTime) = ([Double(row.rate)], row.setup, 0)
            network.fileTime = Double(row.mebibytes << 20) / 1e6 / Double(row.rate * 16)
        }
        let automatic = SimulatedTransfer.finished(network, .automatic(maximum: 16))
        let best = SimulatedTransfer.finished(network, .fixed(16))
        #expect(automatic.time <= row.ratio * best.time, "\(automatic.time) s, \(best.time) s")
    }

    @Test(
        "a file that the server sends in parts over each connection takes little longer than with the best number",
        arguments: [
            (rate: 20, interval: 0.1, setup: 0.001, ratio: 1.6), (20, 0.1, 0.05, 1.5), (15, 0.14, 0.05, 1.5),
            (10, 0.2, 0.001, 1.5), (10, 0.2, 0.05, 1.4), (5, 0.4, 0.001, 1.5), (5, 0.4, 0.05, 1.3), (2, 1, 0.001, 1.4),
        ])
    func parts(row: (rate: Int, interval: Double, setup: Double, ratio: Double)) {
        let network = SimulatedNetwork("\(row.rate) MB/s") { network in
            (network.connectionRates, network.setup, network.rampTime) = ([Double(row.rate)], row.setup, 0)
            network.partInterval = row.interval
            network.fileTime = Double(200 << 20) / 1e6 / Double(row.rate * 16)
        }
        let automatic = SimulatedTransfer.finished(network, .automatic(maximum: 16))
        let best = SimulatedTransfer.finished(network, .fixed(16))
        #expect(automatic.time <= row.ratio * best.time, "\(automatic.time) s, \(best.time) s")
    }

    @Test(
        "a file from a server that counts whole seconds takes little longer than with the best number",
        arguments: [3, 5, 10], [(0.001, 1.5), (0.05, 1.7)])
    func wholeSeconds(mebibytes: Int, row: (setup: Double, ratio: Double)) {
        for phase in stride(from: 0.0, to: 1, by: 0.1) {
            let network = SimulatedNetwork("\(mebibytes) MiB/s") { network in
                let rate = Double(mebibytes << 20) / 1e6
                (network.connectionRates, network.setup, network.rampTime) = ([rate], row.setup, 0)
                (network.clockPhase, network.fileTime) = (phase, Double(200 << 20) / 1e6 / (rate * 16))
            }
            let automatic = SimulatedTransfer.finished(network, .automatic(maximum: 16))
            let best = SimulatedTransfer.finished(network, .fixed(16))
            // In a short time, many connections receive the bytes of an additional second.
            let time = max(best.time, network.fileTime)
            #expect(automatic.time <= row.ratio * time, "phase \(phase): \(automatic.time) s, \(best.time) s")
        }
    }

    @Test(arguments: [0.05, 0.08, 0.1, 0.15, 0.2], [0.02, 0.1])
    func `a limit that the connections share in turn isn't taken for a limit of each one`(
        interval: Double, setup: Double
    ) {
        for seed in 0..<10 {
            let network = SimulatedNetwork("a common limit") { network in
                (network.connectionRates, network.linkRate, network.setup) = ([20], 20, setup)
                (network.grantInterval, network.seed, network.fileTime) = (interval, UInt64(seed), 8)
            }
            let transfer = SimulatedTransfer.finished(network, .automatic(maximum: 16))
            #expect(transfer.isComplete && transfer.largestCount <= 2, "seed \(seed): \(transfer.largestCount)")
        }
    }
}
