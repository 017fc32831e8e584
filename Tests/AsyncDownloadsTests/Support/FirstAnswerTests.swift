import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of answers of which only the first one counts.
@Suite(.endsWhenHung) struct FirstAnswerTests {
    @Test(arguments: [true, false])
    func `only the first answer is passed on, whether or not it is awaited before`(isAwaitedBefore: Bool) {
        let answer = FirstAnswer<Int?>()
        let received = Mutex<[Int?]>([])
        func listen() { answer.whenGiven { value in received.withLock { $0.append(value) } } }
        if isAwaitedBefore { listen() }
        #expect(!answer.isGiven)
        answer(nil)
        answer(2)
        #expect(answer.isGiven)
        if !isAwaitedBefore { listen() }
        answer(3)
        #expect(received.withLock(\.self) == [nil])
    }
}
