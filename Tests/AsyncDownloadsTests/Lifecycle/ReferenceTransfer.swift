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

    /// The step after the end of a canceled exchange if a subscriber wants the file.
    enum Next { case advance, delay }

    /// The bytes that ended transfers have kept.
    var kept: [Location: Bytes] = [:]
    /// The location at which bytes were kept last, from which a request continues regardless of where its own file is.
    var lastKept: Location?
    var isLive = false
    var location = Location.memory
    /// The destination of the subscriber that was detached last, or nil for memory.
    var lastDestination: String?
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
        location = destination.map { .file($0) } ?? .memory
        bytes = mostKept.flatMap { kept[$0] } ?? Bytes()
        (isDelayed, continuesWithoutSubscribers, isOpened) = (false, false, false)
    }

    /// The location of the most bytes from which the transfer may continue when it is opened.
    private var mostKept: Location? {
        [location, .memory, lastKept].compactMap(\.self).filter { kept[$0] != nil }
            .max { kept[$0]?.count ?? 0 < kept[$1]?.count ?? 0 }
    }

    /// Opens the partial file, which moves the bytes to the location of the transfer.
    mutating func open() {
        guard !isOpened, let mostKept else { return isOpened = true }
        bytes = kept.removeValue(forKey: mostKept) ?? Bytes()
        kept[location] = nil
        (lastKept, isOpened) = (nil, true)
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
        if keepingBytes, isOpened, bytes.count > 0 {
            kept[location] = bytes
            if location != .memory { lastKept = location }
        } else if !keepingBytes {
            kept[location] = nil
        }
        bytes = Bytes()
        (isLive, isDelayed, continuesWithoutSubscribers) = (false, false, false)
    }
}
