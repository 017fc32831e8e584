internal import AsyncDownloads
internal import Foundation
internal import TestSupport
internal import Testing

@testable import batch

@Suite(.endsWhenHung) struct HostWaitsTests {
    /// Returns a wait until 10 s after an event at this time.
    private func wait(_ host: String = "a", at seconds: Int, _ reason: (Date) -> WaitingReason) throws -> HostWaits.Wait
    {
        let item = Item(address: try Address("http://\(host)/x"))
        let date = Date(timeIntervalSince1970: 0)
        let event = RunEvent(
            item, time: .seconds(seconds), date: date,
            .success(.waiting(reason: reason(date.addingTimeInterval(10)))))
        return try #require(HostWaits.Wait(event))
    }

    @Test func `two ports of a host are two servers, and the default port isn't shown`() throws {
        var waits = HostWaits()
        for host in ["a", "a:8080"] {
            #expect(waits.insert(try wait(host, at: 0, WaitingReason.coolDown(until:)), at: .zero))
        }
        #expect(!waits.insert(try wait("A:80", at: 1, WaitingReason.coolDown(until:)), at: .seconds(1)))
        #expect(waits.present(at: .seconds(2)).map(\.name) == ["a:8080", "A"])
        waits.remove(try Address("http://a:8080/y").url)
        #expect(waits.present(at: .seconds(2)).map(\.name) == ["A"])
        waits.remove(try Address("https://a:80/y").url)
        #expect(waits.present(at: .seconds(2)).count == 1)
    }

    @Test func `the downloads that wait for one host, and a wait that is extended, count once`() throws {
        var waits = HostWaits()
        let answers = try [("a", 0), ("a", 1), ("b", 2), ("a", 9), ("a", 23), ("a", 40)].map { host, seconds in
            waits.insert(
                try wait(host, at: seconds, WaitingReason.hostUnreachable(until:)), at: .seconds(seconds))
        }
        #expect(answers == [true, false, true, false, false, true])
    }

    @Test func `only present waits are shown, and the first to end comes first`() throws {
        var waits = HostWaits()
        for (host, seconds) in [("b", 3), ("a", 0)] {
            _ = waits.insert(try wait(host, at: seconds, WaitingReason.coolDown(until:)), at: .seconds(seconds))
        }
        #expect(waits.present(at: .seconds(5)).map(\.name) == ["a", "b"])
        #expect(waits.present(at: .seconds(10)).map(\.name) == ["b"])
        #expect(waits.present(at: .seconds(13)) == [])
        waits.remove(try Address("http://a/y").url)
        #expect(waits.present(at: .seconds(5)).map(\.name) == ["b"])
    }

    @Test func `the live display shows three hosts above the totals`() throws {
        var display = LiveDisplay()
        display.expect(5, isComplete: true)
        for host in ["a", "b", "c", "d"] {
            _ = display.waits.insert(
                try wait(host, at: 10, WaitingReason.coolDown(until:)), at: .seconds(10))
        }
        let lines = display.lines(columns: 80, height: 24, now: .seconds(11))
        #expect(lines.count == 4)
        #expect(lines.first?.hasSuffix(", which asks to wait, 0:09") == true, "\(lines)")
        #expect(display.lines(columns: 80, height: 3, now: .seconds(11)).count == 2)
        #expect(display.lines(columns: 80, height: 24, now: .seconds(20)).count == 1)
    }
}
