internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct ActionQueueTests {
    private var queue = ActionQueue()

    private mutating func add(_ actions: TransferAction...) {
        var actions = actions
        queue.add(&actions)
        #expect(actions.isEmpty)
    }

    @Test mutating func `the first thread gets the actions, and later those that others have added, in order`() {
        #expect(queue.beginDraining().isEmpty)
        #expect(queue.isIdle)
        add(.openPartial(credentials: [:]), .useCredentials)
        #expect(!queue.isIdle)
        #expect(queue.beginDraining().map(\.summary) == ["open", "use other credentials"])
        add(.discardPartial)
        #expect(queue.beginDraining().isEmpty, "another thread performs actions")
        add(.releasePermit, .cancelRefresh)
        #expect(queue.next().map(\.summary) == ["discard", "release the permit", "no refresh"])
        #expect(!queue.isIdle)
        #expect(queue.next().isEmpty)
        #expect(queue.isIdle)
    }

    @Test mutating func `after the queue was drained, the next thread performs actions`() {
        for _ in 0..<2 {
            add(.releasePermit)
            #expect(queue.beginDraining().count == 1)
            #expect(queue.next().isEmpty)
        }
    }
}
