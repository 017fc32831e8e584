import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of the estimate that decides on which thread large parts are passed.
@Suite(.endsWhenHung) struct HandlerSpeedTests {
    private var speed = HandlerSpeed()

    private mutating func took(_ microseconds: Int, times: Int = 1) {
        for _ in 0..<times { speed.took(.microseconds(microseconds), for: 512 << 10) }
    }

    @Test mutating func `a handler that takes a gigabyte per second is fast, and a slower one isn't`() {
        took(524, times: 100)
        #expect(!speed.isSlow)
        took(525, times: 100)
        #expect(speed.isSlow)
    }

    @Test mutating func `a few slow parts among fast ones change nothing`() {
        for _ in 0..<20 {
            took(5_000, times: 3)
            took(100, times: 3)
            #expect(!speed.isSlow)
        }
    }

    @Test mutating func `a part that takes very long is enough, until four fast ones have followed`() {
        took(49_999)
        #expect(!speed.isSlow)
        took(50_000)
        took(100, times: 3)
        #expect(speed.isSlow)
        took(100)
        #expect(!speed.isSlow)
    }
}
