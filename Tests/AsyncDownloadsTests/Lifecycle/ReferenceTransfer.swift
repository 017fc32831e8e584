import LoopbackServer

/// The model of one resource's transfer: which bytes exist, and which subscribers want them.
struct ReferenceTransfer {
    /// A location at which bytes are kept for the next request.
    enum Location: Hashable {
        case memory
        case file(String)
    }

    struct Bytes: Equatable {
        var count: Int64 = 0
        var object: SteppedObject?
    }

    /// What follows the end of a canceled exchange if a subscriber wants the file.
    enum Next { case advance, delay }

    /// The bytes that ended transfers have kept.
    var kept: [Location: Bytes] = [:]
    /// Whether the body in memory may have been discarded.
    var isMemoryUncertain = false
    var isLive = false
    var location = Location.memory
    /// The destination of the first subscriber, or nil for memory.
    var firstDestination: String?
    var bytes = Bytes()
    var isDelayed = false
    /// Whether the transfer continues although its last subscriber was canceled.
    var continuesWithoutSubscribers = false
    /// The exchange that has not ended.
    var exchange: SteppedExchange?
    /// Whether the exchange must have been canceled.
    var isStopped = false
    /// The longest time for which it may have been canceled.
    var stoppedFor = Duration.zero
    var next = Next.advance
    var lastActivity = Duration.zero
    /// Whether the transfer has looked for existing bytes.
    var isOpened = false
    /// The number of exchanges of this resource, in all its transfers.
    var exchangeCount = 0

    var isComplete: Bool { bytes.object.map { bytes.count == $0.content.length } ?? false }

    /// Starts a transfer for its first subscriber.
    mutating func begin(_ destination: String?) {
        isLive = true
        firstDestination = destination
        location = destination.map { .file($0) } ?? .memory
        bytes = kept[location] ?? Bytes()
        (isDelayed, continuesWithoutSubscribers, isOpened) = (false, false, false)
    }

    /// The body in memory from which a file without bytes may continue when it is opened.
    var bodyInMemory: Bytes? { location != .memory && bytes.count == 0 ? kept[.memory] : nil }

    mutating func takeBodyInMemory() {
        bytes = kept.removeValue(forKey: .memory) ?? bytes
    }

    /// Records that the exchange is no longer needed.
    mutating func stop(_ next: Next) {
        guard exchange != nil, !isStopped else { return }
        isStopped = true
        stoppedFor = .zero
        self.next = next
    }

    /// Ends the transfer, and keeps or discards its bytes.
    mutating func end(keepingBytes: Bool) {
        // The partial file may have been opened only to be removed, and have taken over the body in memory.
        if !keepingBytes, bodyInMemory != nil { isMemoryUncertain = true }
        kept[location] = keepingBytes && bytes.count > 0 ? bytes : nil
        bytes = Bytes()
        (isLive, isDelayed, continuesWithoutSubscribers) = (false, false, false)
    }
}
