#if ServerStack
internal import NIOCore

/// The buffers into which the connections of one event loop read.
///
/// A buffer is used again as soon as its bytes were passed on, by whichever connection reads next. Small bodies, which are
/// passed on where they arrive, therefore need a single buffer for all connections of the loop, and its memory stays in
/// the cache. With a buffer for each connection, 16 connections took 8 MiB more.
final class ReadBuffers: Sendable {
    /// The number of bytes that are read at a time.
    static let length = 512 << 10
    /// The number of unused buffers that are kept.
    private static let capacity = 4

    private let unused = Mutex<[ByteBuffer]>([])

    /// Returns an empty buffer that nobody else uses.
    func take(from allocator: ByteBufferAllocator) -> ByteBuffer {
        let buffer = unused.withLock { buffers -> ByteBuffer? in
            while var buffer = buffers.popLast() {
                // The engine, or the rest of a divided part, may still use the memory.
                if buffer.modifyIfUniquelyOwned({ $0.clear() }) != nil { return buffer }
            }
            return nil
        }
        return buffer ?? allocator.buffer(capacity: Self.length)
    }

    /// Keeps the memory of a part whose bytes were passed on, for a later read.
    ///
    /// Memory that was not allocated here is ignored.
    func recycle(_ buffer: ByteBuffer) {
        guard buffer.storageCapacity == Self.length else { return }
        let address = Self.address(of: buffer)
        unused.withLock { buffers in
            // The parts of one read that are passed separately have the same memory.
            guard buffers.count < Self.capacity, !buffers.contains(where: { Self.address(of: $0) == address }) else {
                return
            }
            buffers.append(buffer)
        }
    }

    /// Releases all unused buffers but one.
    func trim() { unused.withLock { $0.removeFirst(max(0, $0.count - 1)) } }

    private static func address(of buffer: ByteBuffer) -> UnsafeRawPointer? {
        buffer.withVeryUnsafeBytes { $0.baseAddress }
    }
}

/// The allocator of one connection's read buffers, which takes them from those of its event loop.
struct ReadBufferAllocator: RecvByteBufferAllocator {
    /// The length of the first read.
    ///
    /// NIO keeps a connection's first buffer for as long as the connection exists.
    private static let firstLength = 16 << 10

    let buffers: ReadBuffers
    private var hasRead = false

    init(buffers: ReadBuffers) { self.buffers = buffers }

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        hasRead ? buffers.take(from: allocator) : allocator.buffer(capacity: Self.firstLength)
    }

    // NIO would otherwise use the first buffer again.
    func nextBufferSize() -> Int? { nil }

    mutating func record(actualReadBytes: Int) -> Bool {
        hasRead = true
        return true
    }
}
#endif
