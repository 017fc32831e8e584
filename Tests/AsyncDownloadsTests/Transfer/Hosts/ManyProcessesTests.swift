internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The load on one host of several processes, each of which learns the limit by itself.
///
/// This is why `batch split` puts all URLs of a host in one lane. The environment variable `ASYNC_DOWNLOADS_GROWTH` prints the
/// figures of the article about many machines.
@Suite(.endsWhenHung) struct ManyProcessesTests {
    private static let rules: [(String, SimulatedHost.Rule)] = [
        ("40 requests at once", .connections(count: 40)),
        ("100 requests in 10 s", .fixedWindow(count: 100, period: .seconds(10), offset: .zero)),
        ("10 requests a second, 20 in supply", .bucket(count: 20, perSecond: 10)),
    ]

    @Test func `several processes are refused more often than one`() {
        let isPrinting = ProcessInfo.processInfo.environment["ASYNC_DOWNLOADS_GROWTH"] != nil
        let counts = isPrinting ? [1, 8, 64] : [1, 8]
        // The figures are those of more transfers than the comparison needs.
        let transferCount = isPrinting ? 2048 : 1024
        for (name, rule) in Self.rules {
            var refusals: [Int] = []
            for count in counts {
                var host = SimulatedHost(rule, processCount: count)
                let outcome = host.run(transferCount)
                #expect(outcome.finishedCount == transferCount)
                refusals.append(outcome.refusalCount)
                if isPrinting {
                    let end = Int(outcome.end / .seconds(1))
                    print("\(name): \(count) processes, \(outcome.refusalCount) refusals, \(end) s")
                }
            }
            #expect(refusals[1] > refusals[0], "\(name): \(refusals)")
        }
    }
}
