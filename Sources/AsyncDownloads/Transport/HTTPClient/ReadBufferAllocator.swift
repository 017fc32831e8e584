#if ServerStack
internal import NIOCore

/// An allocator of small buffers until a read fills one, and of large buffers as long as reads are large.
///
/// A connection that only brings small bodies thereby needs little memory. Sizes in between would be of no use: a
/// buffer that grows after another thread had its bytes makes the thread sanitizer report a race, because it does not
/// see the synchronization by reference counts.
struct ReadBufferAllocator: RecvByteBufferAllocator {
    /// The number of bytes in a small buffer, which are always passed on the event loop.
    static let smallLength = 16 << 10

    private let largeLength: Int
    private var isLarge = false

    init(largeLength: Int) {
        self.largeLength = largeLength
    }

    func nextBufferSize() -> Int? { isLarge ? largeLength : Self.smallLength }

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        allocator.buffer(capacity: isLarge ? largeLength : Self.smallLength)
    }

    /// Records the number of bytes in a read, and returns whether the next buffer may be larger.
    mutating func record(actualReadBytes count: Int) -> Bool {
        let wasLarge = isLarge
        isLarge = count >= Self.smallLength
        return isLarge && !wasLarge
    }
}
#endif
