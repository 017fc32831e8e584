internal import TestSupport
internal import Testing

@testable import AsyncDownloads

private let mebibyte = StateMachineHarness.mebibyte

/// Extra exchanges, which fetch parts of a file beside the first one.
@Suite("Extra exchanges", .endsWhenHung)
struct TransferExtrasTests {
    @Test func `rule 8: parts are requested under If-Match, up to the end of what they divide`() {
        let harness = StateMachineHarness.divided()
        #expect(
            harness.done.filter { $0.hasPrefix("exchange") } == [
                "exchange 2 bytes=4259840-16777215", "exchange 3 bytes=8454144-16777215",
                "exchange 4 bytes=12648448-16777215",
            ])
        #expect(harness.requests.allSatisfy { $0.headers["If-Match"] == "\"v1\"" && $0.headers["If-Range"] == nil })
    }

    @Test func `rule 53: every part is written by one exchange, and the file is complete without a retry`() {
        var harness = StateMachineHarness.divided()
        for id in [2, 3, 4] as [ExchangeID] { harness.accept(id) }
        #expect(harness.machine.exchanges.segments.map(\.start) == [0, 4_259_840, 8_454_144, 12_648_448])
        harness.forget()
        for id in [3, 1, 4, 2] as [ExchangeID] { harness.complete(id) }
        #expect(harness.done.contains("cancel 3"), "its response continues beyond its part")
        harness.end(of: 4)
        #expect(harness.done.suffix(3) == ["finish 16777216", "release the permit", "end finished"])
        #expect(harness.log == ["verifying"])
        #expect(harness.machine.budget.retriesUsed == 0)
    }

    @Test func `one connection needs no extra exchange, and neither does a body for memory or without a validator`() {
        #expect(StateMachineHarness.divided(1).running == [1])
        for (length, tag) in [("\(16 * mebibyte)", "W/\"v1\""), ("\(mebibyte)", "\"v1\"")] {
            var harness = StateMachineHarness.connecting { $0.connections = .fixed(4) }
            harness.head(200, ["Content-Length": length, "ETag": tag])
            harness.bytes(1000)
            #expect(harness.running == [1])
        }
        var harness = StateMachineHarness.connecting { ($0.connections, $0.policies.wantsFile) = (.fixed(4), false) }
        harness.head(200, ["Content-Length": "\(16 * mebibyte)", "ETag": "\"v1\""])
        harness.bytes(1000)
        #expect(harness.running == [1])
    }

    @Test func `a server that accepts no ranges gets no extra exchange`() {
        var harness = StateMachineHarness.connecting { $0.connections = .fixed(4) }
        harness.head(200, ["Content-Length": "\(16 * mebibyte)", "ETag": "\"v1\"", "Accept-Ranges": "none"])
        harness.bytes(1000)
        #expect(harness.running == [1])
    }

    @Test(arguments: [302, 503])
    func `a response without the file doesn't say whether its server accepts ranges`(status: Int) {
        var harness = StateMachineHarness.connecting { $0.connections = .fixed(4) }
        harness.head(status, ["Location": "/file", "Accept-Ranges": "none"])
        if status == 503 { harness.end() }
        harness.pass(.seconds(60))
        harness.head(200, ["Content-Length": "\(16 * mebibyte)", "ETag": "\"v1\""])
        harness.bytes(1000)
        #expect(harness.running.count == 4)
    }

    @Test(arguments: [403, 404, 416, 429, 503, 200, 302])
    func `rule 58: a refused extra exchange leaves its bytes with the others`(status: Int) {
        var harness = StateMachineHarness.divided()
        harness.accept(2)
        harness.forget()
        harness.head(status, ["ETag": "\"v1\"", "Retry-After": "9"], of: 3)
        // A response to a request says nothing about the others, unless it shows that the server divides nothing.
        let isOff = [416, 200, 302].contains(status)
        #expect(harness.done == (isOff ? ["cancel 3", "cancel 4"] : ["cancel 3"]))
        #expect(harness.running == (isOff ? [1, 2] : [1, 2, 4]))
        harness.complete(1)
        harness.complete(2)
        harness.end(of: 2)
        #expect(harness.done.last == "end finished")
        #expect(harness.log == ["verifying"] && harness.machine.budget.retriesUsed == 0)
    }

    @Test func `rule 23: after an ignored range no further exchange is started`() {
        var harness = StateMachineHarness.divided()
        harness.head(200, ["Content-Length": "\(16 * mebibyte)", "ETag": "\"v1\""], of: 2)
        #expect(harness.running == [1])
        harness.bytes(100, of: 1)
        harness.pass(.seconds(100))
        #expect(harness.machine.extras.isOff && harness.running.count <= 1)
    }

    @Test func `a connection that is refused is like a refusal by its response`() {
        var harness = StateMachineHarness.divided()
        harness.forget()
        harness.end(.failed(DownloadError(.connectionLost)), of: 3)
        #expect(harness.done == [] && harness.running == [1, 2, 4])
        for id in [2, 4] as [ExchangeID] { harness.end(.failed(DownloadError(.connectionLost)), of: id) }
        #expect(harness.done == [] && harness.running == [1] && harness.log.isEmpty)
        #expect(harness.machine.extras.number == 1)
    }

    @Test func `an extra exchange that breaks is replaced at once`() {
        var harness = StateMachineHarness.divided(2)
        harness.accept(2)
        harness.bytes(64 << 10, of: 2)
        harness.forget()
        harness.end(.failed(DownloadError(.connectionLost)), of: 2)
        #expect(harness.log.isEmpty)
        // The part that the broken exchange has begun is known; the rest is divided anew.
        #expect(harness.running == [1, 3])
        #expect(harness.machine.exchanges.unassigned(harness.machine.bytes.intervals) == [])
    }

    @Test func `the first exchange may break while others receive`() {
        var harness = StateMachineHarness.divided(2)
        harness.accept(2)
        harness.forget()
        harness.end(.failed(DownloadError(.connectionLost)), of: 1)
        #expect(harness.done == ["exchange 3 bytes=1000-8454143"])
        #expect(harness.log.isEmpty)
    }

    @Test func `after the failures of all exchanges, one request shows whether the transfer fails`() {
        var harness = StateMachineHarness.divided(2)
        harness.accept(2)
        harness.bytes(1000, of: 2)
        harness.lose(1)
        harness.forget()
        harness.lose(2)
        harness.lose(3)
        #expect(harness.log.isEmpty)
        // Both parts are kept.
        #expect(harness.requests.last?.headers["Range"] == "bytes=1000-")
        #expect(harness.requests.last?.headers["If-Range"] == "\"v1\"")
        #expect(harness.machine.bytes.count == 2000)
        harness.lose()
        #expect(harness.log.first == "retrying 1 connectionLost")
    }

    @Test func `rule 52: a change is asked about once more, and then all exchanges stop`() {
        var harness = StateMachineHarness.divided(2)
        harness.forget()
        harness.head(206, ["Content-Range": "bytes 8454144-16777215/16777216", "ETag": "\"v2\""], of: 2)
        #expect(harness.done == ["cancel 2", "exchange 3 bytes=8454144-16777215"])
        harness.forget()
        harness.head(412, ["ETag": "\"v2\""], of: 3)
        #expect(harness.done == ["cancel 1", "cancel 3", "exchange 4 bytes=1000-"])
        #expect(harness.requests.last?.headers["If-Range"] == "\"v1\"")
        // The object is unchanged for this request: one stream.
        harness.head(206, ["Content-Range": "bytes 1000-16777215/16777216", "ETag": "\"v1\""], of: 4)
        harness.bytes(1000, of: 4)
        #expect(harness.running == [4])
        #expect(harness.log == ["resumed 1000"])
    }

    @Test func `a server that doesn't know If-Match is asked without it`() {
        var harness = StateMachineHarness.divided(2)
        harness.forget()
        harness.head(412, ["ETag": "\"v1\""], of: 2)
        #expect(harness.done == ["cancel 2", "exchange 3 bytes=8454144-16777215"])
        #expect(harness.requests.last?.headers["If-Match"] == nil)
        harness.head(206, ["Content-Range": "bytes 8454144-16777215/16777216", "ETag": "\"v1\""], of: 3)
        #expect(harness.machine.exchanges.segments.count == 2)
    }

    @Test func `rule 54: a pause cancels every exchange, and closes after the last end`() {
        var harness = StateMachineHarness.divided()
        harness.accept(2)
        harness.bytes(2000, of: 2)
        harness.automatic.remove(.cancelling)
        harness.forget()
        harness.stop(.pause)
        #expect(harness.done == ["cancel 1", "cancel 2", "cancel 3", "cancel 4"])
        for id in [2, 4, 1] as [ExchangeID] {
            harness.end(.cancelled, of: id)
            #expect(harness.machine.phase == .draining)
        }
        harness.end(.cancelled, of: 3)
        #expect(harness.machine.phase == .paused)
        #expect(harness.log == ["paused 3000"])
        harness.forget()
        harness.run()
        #expect(harness.requests.map { $0.headers["Range"] } == ["bytes=1000-"])
        harness.head(206, ["Content-Range": "bytes 1000-16777215/16777216", "ETag": "\"v1\""])
        harness.bytes(5000)
        #expect(harness.machine.bytes.count == 8000)
        #expect(harness.running.count == 4)
    }

    @Test func `an exchange that receives nothing is replaced while others receive`() {
        var harness = StateMachineHarness.divided(2)
        harness.accept(2)
        harness.bytes(1000, of: 2)
        harness.forget()
        for _ in 0..<12 {
            harness.pass(.seconds(1))
            harness.bytes(1000, of: 1)
        }
        #expect(harness.done.contains("cancel 2"))
        #expect(harness.log.isEmpty && harness.running.count == 2)
    }

    @Test func `an extra exchange without a response is given up`() {
        var harness = StateMachineHarness.divided(2)
        harness.forget()
        for _ in 0..<6 {
            harness.pass(.seconds(1))
            harness.bytes(1000, of: 1)
        }
        #expect(Set(harness.done.filter { !$0.hasPrefix("mark") }) == ["cancel 2", "save 6000"])
        #expect(harness.running == [1] && harness.log.isEmpty)
    }

    @Test func `rule 19: short responses to extra exchanges are not requested again and again`() {
        var harness = StateMachineHarness.divided(2)
        harness.head(206, ["Content-Range": "bytes 8454144-8454153/16777216", "ETag": "\"v1\""], of: 2)
        harness.bytes(10, of: 2)
        harness.forget()
        harness.end(of: 2)
        #expect(harness.done == [] && harness.running == [1])
        #expect(harness.machine.extras.isOff)
        // The first exchange has the rest, which its response contains.
        #expect(harness.machine.exchanges.segment(of: 1)?.openRange == 1000..<16 * mebibyte)
        harness.complete(1)
        harness.end(of: 1)
        #expect(harness.done.suffix(3) == ["finish 16777216", "release the permit", "end finished"])
        #expect(!harness.done.contains { $0.hasPrefix("exchange") })
    }

    @Test func `rule 30: an extra exchange that brings too much loses its bytes and ends the division`() {
        var harness = StateMachineHarness.divided(2)
        harness.accept(2)
        harness.complete(2)
        harness.forget()
        harness.bytes(1, of: 2)
        #expect(harness.machine.bytes.count == 1000)
        #expect(harness.requests.last?.headers["Range"] == "bytes=1000-")
        #expect(harness.machine.extras.isOff && harness.machine.budget.retriesUsed == 0)
    }
}
