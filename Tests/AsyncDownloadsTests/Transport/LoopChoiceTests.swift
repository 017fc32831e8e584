internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct LoopChoiceTests {
    @Test(arguments: 0..<4)
    func `an exchange uses the loop that has kept a connection, unless another one has fewer exchanges`(position: Int) {
        var choice = LoopChoice()
        let origin = Origin(.sample("https://a.example/"))
        choice.kept(with: origin, at: position)
        let first = choice.begin(with: origin, of: 4)
        #expect(first == position)
        let second = choice.begin(with: origin, of: 4)
        #expect(second != position)
        for end in [first, second] { choice.end(with: origin, at: end) }
        // The other connection was closed.
        let third = choice.begin(with: origin, of: 4)
        #expect(third == position)
    }

    private let origins: [Origin?]

    init() throws {
        let urls = try ["https://a.example/", "http://a.example/", "http://b.example/"].map {
            try #require(URL(string: $0))
        }
        origins = urls.map { Origin($0) } + [nil]
    }

    @Test func `successive exchanges use the same loop`() {
        for origin in origins {
            var choice = LoopChoice()
            let first = choice.begin(with: origin, of: 4)
            #expect(0..<4 ~= first)
            choice.end(with: origin, at: first)
            #expect(choice.begin(with: origin, of: 4) == first)
        }
    }

    @Test(arguments: [1, 2, 4])
    func `concurrent exchanges with an origin use all loops in turn`(count: Int) {
        var choice = LoopChoice()
        for origin in origins {
            let first = choice.begin(with: origin, of: count)
            for number in 1...count { #expect(choice.begin(with: origin, of: count) == (first + number) % count) }
        }
    }

    @Test func `an exchange that follows another one takes its place`() {
        for origin in origins {
            var choice = LoopChoice()
            var loops = (0..<16).map { _ in choice.begin(with: origin, of: 4) }
            // While several exchanges run at a time, all loops are used equally.
            for index in (0..<160).map({ $0 * 7 % 16 }) {
                choice.end(with: origin, at: loops[index])
                loops[index] = choice.begin(with: origin, of: 4)
            }
            let counts = Dictionary(grouping: loops) { $0 }.mapValues(\.count)
            #expect(counts == [0: 4, 1: 4, 2: 4, 3: 4])
        }
    }

    @Test func `further exchanges of a file use its loop, and others avoid it`() {
        var choice = LoopChoice()
        let first = choice.begin(with: nil, of: 2)
        for _ in 0..<3 { #expect(choice.begin(with: nil, beside: first, of: 2) == first) }
        choice.end(with: nil, at: first)
        for _ in 0..<3 { #expect(choice.begin(with: nil, of: 2) == 1 - first) }
    }

    @Test func `an end after a shutdown changes nothing`() {
        var choice = LoopChoice()
        choice.end(with: nil, at: 3)
        let first = choice.begin(with: nil, of: 4)
        #expect(choice.begin(with: nil, of: 4) == (first + 1) % 4)
    }
}
