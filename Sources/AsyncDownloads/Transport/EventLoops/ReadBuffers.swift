#if ServerStack
internal import NIOCore

/// The buffers into which the connections of one event loop read.
///
/// As soon as the bytes of a buffer were passed on, the next connection that reads uses it. Small bodies, which are
/// passed on where they arrive, therefore need a single buffer for all connections of the loop, and its memory stays in
/// the processor's cache. With a buffer for each connection, 16 connections took 4 MiB more.
final class ReadBuffers: Sendable {
    /// The number of bytes that are read at a time.
    static let length = 512 << 10
    /// The number of bytes that are read at a time while the loop reads a single large body, which takes less time with
    /// fewer reads.
    ///
    /// With several bodies, parts of this length would fill the queues, so that no body is read while one is written.
    static let singleLength = 1 << 20
    /// The number of bytes that connections with TLS read at a time, unless the loop reads a single large body.
    ///
    /// NIOSSL has a buffer for each connection, which grows to the length of the reads.
    static let secureLength = 128 << 10
    /// The number of unused buffers that are kept.
    private static let capacity = 4

    private struct State {
        var unused: [ByteBuffer] = []
        var length: Int
    }

    private let length: Int
    private let state: Mutex<State>

    /// Creates an empty collection of buffers.
    ///
    /// - Parameter length: The number of bytes that are read at a time, unless the loop reads a single large body.
    init(length: Int = ReadBuffers.length) {
        self.length = length
        state = Mutex(State(length: length))
    }

    /// Returns an empty buffer whose memory is not used elsewhere.
    func take(from allocator: ByteBufferAllocator) -> ByteBuffer {
        let (buffer, length) = state.withLock { state -> (ByteBuffer?, Int) in
            while var buffer = state.unused.popLast() {
                // The engine, or the rest of a divided part, may still use the memory.
                if buffer.modifyIfUniquelyOwned({ $0.clear() }) != nil { return (buffer, state.length) }
            }
            return (nil, state.length)
        }
        return buffer ?? allocator.buffer(capacity: length)
    }

    /// Keeps the memory of a part whose bytes were passed on, for a later read.
    ///
    /// Memory that was not allocated here is ignored.
    func recycle(_ buffer: ByteBuffer) {
        let address = Self.address(of: buffer)
        state.withLock { state in
            guard buffer.storageCapacity == state.length, state.unused.count < Self.capacity else { return }
            // Several parts that come from one read have the same memory.
            if state.unused.contains(where: { Self.address(of: $0) == address }) { return }
            state.unused.append(buffer)
        }
    }

    /// Sets the length of the buffers for the number of large bodies that the loop reads.
    ///
    /// Without large bodies, at most one unused buffer is kept.
    func adapt(toLargeBodies count: Int) {
        state.withLock { state in
            let length = count == 1 ? Self.singleLength : self.length
            if state.length != length { state.unused = [] }
            state.length = length
            if count == 0 { state.unused.removeFirst(max(0, state.unused.count - 1)) }
        }
    }

    private static func address(of buffer: ByteBuffer) -> UnsafeRawPointer? {
        buffer.withVeryUnsafeBytes { $0.baseAddress }
    }
}

/// The allocator of one connection's read buffers, which uses the buffers of the connection's event loop.
struct ReadBufferAllocator: RecvByteBufferAllocator {
    /// The length of the first read.
    ///
    /// The first buffer is small, because NIO keeps it while the connection exists.
    private static let firstLength = 16 << 10

    let buffers: ReadBuffers
    private var hasRead = false

    init(buffers: ReadBuffers) { self.buffers = buffers }

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        hasRead ? buffers.take(from: allocator) : allocator.buffer(capacity: Self.firstLength)
    }

    // With another result, NIO would reuse the first buffer.
    func nextBufferSize() -> Int? { nil }

    mutating func record(actualReadBytes: Int) -> Bool {
        hasRead = true
        return true
    }
}
#endif
