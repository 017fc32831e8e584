/// The refusals of extra exchanges that are not judged yet, because other requests are unanswered.
///
/// The order of the responses to requests that were sent together says nothing about the limit of the host.
struct RefusalGroup: Sendable, Hashable {
    /// The largest number of exchanges that had a segment since the first refusal; nil without a refusal.
    private(set) var segmentCount: Int?
    /// The longest time that the host asks to wait.
    private(set) var retryAfter: Duration?

    var isEmpty: Bool { segmentCount == nil }

    /// Records that an exchange was refused while `segmentCount` exchanges had a segment.
    mutating func refused(segmentCount: Int, retryAfter: Duration?) {
        self.segmentCount = max(self.segmentCount ?? 0, segmentCount)
        if let retryAfter { self.retryAfter = max(self.retryAfter ?? .zero, retryAfter) }
    }

    /// Records that an exchange was accepted; `segmentCount` exchanges now have a segment.
    mutating func accepted(segmentCount: Int) {
        guard let count = self.segmentCount else { return }
        self.segmentCount = max(count, segmentCount)
    }
}
