import LoopbackServer

/// What the lifecycle says of one resource's transfer, in the plainest terms: which bytes there are, and who wants them.
struct ReferenceTransfer {
    /// Where bytes wait for the next request.
    enum Site: Hashable {
        case memory
        case file(String)
    }

    struct Bytes: Equatable {
        var count: Int64 = 0
        var object: SteppedObject?
    }

    /// What follows when a cancelled exchange has ended, as long as somebody wants the file.
    enum Next { case advance, delay }

    /// What transfers that are over have left.
    var kept: [Site: Bytes] = [:]
    /// Whether the body in memory may have gone as well.
    var isMemoryDoubtful = false
    var isLive = false
    var location = Site.memory
    /// The destination of the caller for whom the transfer began; nil for memory.
    var firstDestination: String?
    var bytes = Bytes()
    var isDelayed = false
    /// Whether it goes on although its last caller has left.
    var goesOnForNobody = false
    /// The exchange that has not ended, as the engine knows it.
    var exchange: SteppedExchange?
    /// Whether the exchange must have been cancelled.
    var isStopped = false
    /// For how long at most it has been cancelled.
    var stoppedFor = Duration.zero
    var next = Next.advance
    var lastActivity = Duration.zero
    /// Whether it has looked for the bytes that are there.
    var isOpened = false
    /// How many exchanges it has had, in all its lives.
    var exchangeCount = 0

    var isComplete: Bool { bytes.object.map { bytes.count == $0.content.length } ?? false }

    /// A caller comes where no transfer is.
    mutating func begin(_ destination: String?) {
        isLive = true
        firstDestination = destination
        location = destination.map { .file($0) } ?? .memory
        bytes = kept[location] ?? Bytes()
        (isDelayed, goesOnForNobody, isOpened) = (false, false, false)
    }

    /// The body in memory that a file without bytes may go on from when it is opened.
    var bodyInMemory: Bytes? { location != .memory && bytes.count == 0 ? kept[.memory] : nil }

    mutating func takeBodyInMemory() {
        bytes = kept.removeValue(forKey: .memory) ?? bytes
    }

    /// The exchange is of no more use.
    mutating func stop(_ next: Next) {
        guard exchange != nil, !isStopped else { return }
        isStopped = true
        stoppedFor = .zero
        self.next = next
    }

    /// The transfer is over, and its bytes stay or go.
    mutating func end(keepingBytes: Bool) {
        // It may have been opened only to be removed, and have taken the body out of memory for that.
        if !keepingBytes, bodyInMemory != nil { isMemoryDoubtful = true }
        kept[location] = keepingBytes && bytes.count > 0 ? bytes : nil
        bytes = Bytes()
        (isLive, isDelayed, goesOnForNobody) = (false, false, false)
    }
}
