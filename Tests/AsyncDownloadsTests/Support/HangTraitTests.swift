import TestSupport
import Testing

/// Tests of the detection of hung tests, and of the end of the process because of them.
@Suite(.endsWhenHung)
struct HangTraitTests {
    private let start = SuspendingClock.now
    private let none = RunningTests(quietTime: .seconds(90))

    @Test func `a test that has not reached its limit is not hung`() {
        var tests = none
        _ = tests.begin("slow", limit: .seconds(300), at: start)
        #expect(tests.hung(at: start) == [])
        #expect(tests.hung(at: start + .seconds(300)) == [])
    }

    @Test func `a test that runs beyond its limit while nothing else ends is hung`() {
        var tests = none
        let other = tests.begin("other", limit: .seconds(300), at: start)
        _ = tests.begin("stuck", limit: .seconds(300), at: start + .seconds(1))
        tests.end(other, at: start + .seconds(100))
        #expect(tests.hung(at: start + .seconds(313)) == [.init(name: "stuck", time: .seconds(312))])
    }

    @Test func `a test that runs beyond its limit while no test has ever ended is hung`() {
        var tests = none
        _ = tests.begin("stuck", limit: .seconds(10), at: start)
        #expect(tests.hung(at: start + .seconds(11)) == [.init(name: "stuck", time: .seconds(11))])
    }

    @Test func `a test that runs beyond its limit is not hung while others end`() {
        var tests = none
        let other = tests.begin("other", limit: .seconds(300), at: start)
        _ = tests.begin("slow", limit: .seconds(300), at: start)
        tests.end(other, at: start + .seconds(400))
        #expect(tests.hung(at: start + .seconds(400)) == [])
        #expect(tests.hung(at: start + .seconds(490)) == [])
        #expect(tests.hung(at: start + .seconds(491)) == [.init(name: "slow", time: .seconds(491))])
    }

    @Test func `all hung tests are found, in the order of their starts`() {
        var tests = none
        _ = tests.begin("first", limit: .seconds(300), at: start)
        _ = tests.begin("patient", limit: .seconds(720), at: start)
        _ = tests.begin("second", limit: .seconds(300), at: start + .seconds(2))
        _ = tests.begin("late", limit: .seconds(300), at: start + .seconds(200))
        let expected = [
            RunningTests.Hung(name: "first", time: .seconds(400)), .init(name: "second", time: .seconds(398)),
        ]
        #expect(tests.hung(at: start + .seconds(400)) == expected)
    }

    @Test func `a test that has ended is not tracked`() {
        var tests = none
        let number = tests.begin("slow", limit: .seconds(300), at: start)
        tests.end(number, at: start + .seconds(1000))
        #expect(tests.entries.isEmpty)
        #expect(tests.hung(at: start + .seconds(2000)) == [])
    }

    @Test(arguments: [(nil, 300), ("20", 20), ("1200", 1200), ("0", 300), ("-5", 300), ("1.5", 300), ("", 300)])
    func `the environment sets the default limit if it contains a positive number`(
        _ value: String?, _ seconds: Int
    ) {
        let environment = value.map { ["ASYNC_DOWNLOADS_HANG_LIMIT": $0] } ?? [:]
        #expect(HangTrait.defaultLimit(in: environment) == .seconds(seconds))
    }

    @Test(arguments: ["an argument"])
    func `a running test is registered with its suite, name, arguments and source location`(_ argument: String) throws {
        let function = try #require(Test.current?.name)
        let names = HangWatch.shared.entries.map(\.name).filter { $0.contains(function) }
        let line = try #require(Test.current?.sourceLocation.line)
        #expect(names == ["HangTraitTests/\(function) [\"\(argument)\"] (HangTraitTests.swift:\(line))"])
    }

    @Suite(.endsWhenHung(minutes: 600)) struct Nested {
        @Test(.endsWhenHung(minutes: 601))
        func `a test with several traits is registered once, with the limit nearest to it`() throws {
            let function = try #require(Test.current?.name)
            let entries = HangWatch.shared.entries.filter { $0.name.contains(function) }
            #expect(entries.map(\.limit) == [.seconds(601 * 60)])
        }
    }

    #if os(macOS) || os(Linux)  // No other system lets a test start a process.
    @Test func `a hung test is named on standard error, and the process ends`() async throws {
        let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let watch = HangWatch(quietTime: .zero)
            _ = watch.begin("Suite/stuck (File.swift:7)", limit: .zero)
            _ = watch.begin("Suite/patient (File.swift:9)", limit: .seconds(300))
            // If the watch does not end the process, the process exits successfully, and the test fails.
            try await Task.sleep(for: .seconds(3600))
        }
        let lines = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
        let hung = lines.filter { $0.contains("hung") }
        #expect(hung.count == 1)
        let line = /Test hung: Suite\/stuck \(File\.swift:7\) has run for \d+ s; ending the process/
        #expect(hung.first?.wholeMatch(of: line) != nil)
    }
    #endif
}
