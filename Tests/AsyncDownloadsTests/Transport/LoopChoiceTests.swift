internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("LoopChoice", .endsWhenHung)
struct LoopChoiceTests {
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
            choice.end(with: origin)
            #expect(choice.begin(with: origin, of: 4) == first)
        }
    }

    @Test(arguments: [1, 2, 4])
    func `concurrent exchanges with an origin use all loops in turn`(count: Int) {
        var choice = LoopChoice()
        for origin in origins {
            let first = choice.begin(with: origin, of: count)
            for number in 1...count { #expect(choice.begin(with: origin, of: count) == (first + number) % count) }
            choice.end(with: origin)
            #expect(choice.begin(with: origin, of: count) == first)
        }
    }

    @Test func `an end without a beginning changes nothing`() {
        var choice = LoopChoice()
        choice.end(with: nil)
        let first = choice.begin(with: nil, of: 4)
        #expect(choice.begin(with: nil, of: 4) == (first + 1) % 4)
    }
}
