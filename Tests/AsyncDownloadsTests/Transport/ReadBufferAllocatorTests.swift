internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

@Suite(.endsWhenHung)
struct ReadBufferAllocatorTests {
    @Test func `buffers are large only as long as reads are large`() {
        var allocator = ReadBufferAllocator(largeLength: 1 << 20)
        let small = ReadBufferAllocator.smallLength
        #expect(allocator.nextBufferSize() == small)
        for (count, next, grows) in [
            (small - 1, small, false), (small, 1 << 20, true), (1 << 20, 1 << 20, false), (small, 1 << 20, false),
            (small - 1, small, false), (0, small, false), (small, 1 << 20, true),
        ] {
            #expect(allocator.record(actualReadBytes: count) == grows)
            #expect(allocator.nextBufferSize() == next)
        }
    }
}
