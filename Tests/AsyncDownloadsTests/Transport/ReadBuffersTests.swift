#if ServerStack
import NIOCore
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of the buffers that the connections of an event loop share.
@Suite(.endsWhenHung) struct ReadBuffersTests {
    private let buffers = ReadBuffers()

    private func take() -> ByteBuffer { buffers.take(from: ByteBufferAllocator()) }

    private func address(_ buffer: ByteBuffer) -> UnsafeRawPointer? {
        buffer.withVeryUnsafeBytes { $0.baseAddress }
    }

    @Test func `memory is used again after its bytes were passed on`() {
        var part = take()
        let memory = address(part)
        part.writeString("the bytes of a body")
        buffers.recycle(part)
        part = ByteBuffer()
        let next = take()
        #expect(address(next) == memory)
        #expect(next.readableBytes == 0)
        #expect(next.writableBytes == ReadBuffers.length)
    }

    @Test func `memory isn't used again while the rest of it is still to be passed on`() {
        var part = take()
        part.writeString("first, second")
        var first = part.readSlice(length: 7) ?? ByteBuffer()
        buffers.recycle(first)
        first = ByteBuffer()
        var next = take()
        #expect(address(next) != address(part))
        next.writeString("something else")
        #expect(String(buffer: part) == "second")
    }

    @Test func `parts of one buffer that are recycled separately don't share it afterward`() {
        var part = take()
        part.writeString("first, second")
        var parts = [part.readSlice(length: 7) ?? ByteBuffer(), part]
        part = ByteBuffer()
        for part in parts { buffers.recycle(part) }
        parts = []
        let (one, other) = (take(), take())
        #expect(address(one) != address(other))
    }

    @Test func `memory of another length isn't kept`() {
        let part = ByteBuffer(string: "a joined part")
        buffers.recycle(part)
        #expect(take().storageCapacity == ReadBuffers.length)
    }

    @Test func `no more than four unused buffers are kept`() {
        var parts = (0..<6).map { _ in take() }
        let kept = Set(parts[..<4].map { address($0) })
        for part in parts { buffers.recycle(part) }
        parts = []
        parts = (0..<6).map { _ in take() }
        #expect(Set(parts[..<4].map { address($0) }) == kept)
        #expect(Set(parts.map { address($0) }).count == 6)
    }

    @Test func `the memory of several parts counts once`() {
        var part = take()
        part.writeString("first, second, third, fourth, fifth")
        for _ in 0..<4 { buffers.recycle(part.readSlice(length: 7) ?? ByteBuffer()) }
        var other = ByteBufferAllocator().buffer(capacity: ReadBuffers.length)
        let memory = address(other)
        buffers.recycle(other)
        other = ByteBuffer()
        #expect(address(take()) == memory)
    }

    @Test func `a single large body is read in longer parts, and after the last one a single buffer is kept`() {
        for (count, length) in [(1, ReadBuffers.singleLength), (2, ReadBuffers.length), (1, ReadBuffers.singleLength)] {
            buffers.adapt(toLargeBodies: count)
            let part = take()
            #expect(part.storageCapacity == length)
            buffers.recycle(part)
        }
        buffers.adapt(toLargeBodies: 2)
        var parts = (0..<3).map { _ in take() }
        let last = address(parts[2])
        for part in parts { buffers.recycle(part) }
        parts = []
        buffers.adapt(toLargeBodies: 0)
        parts = [take()]
        #expect(address(parts[0]) == last)
        #expect(parts[0].storageCapacity == ReadBuffers.length)
    }

    @Test func `a connection's first read is short, because the engine keeps its buffer`() {
        var allocator = ReadBufferAllocator(buffers: buffers)
        #expect(allocator.buffer(allocator: ByteBufferAllocator()).storageCapacity == 16 << 10)
        #expect(allocator.nextBufferSize() == nil)
        let mayGrow = allocator.record(actualReadBytes: 300)
        #expect(mayGrow)
        #expect(allocator.buffer(allocator: ByteBufferAllocator()).storageCapacity == ReadBuffers.length)
    }
}
#endif
