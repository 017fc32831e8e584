/// The times of the latest requests to one host.
struct RequestLog: Sendable {
    /// The number of recorded requests, if no pace needs more.
    static let leastCapacity = 4096

    private let capacity: Int
    /// The times, of which the oldest is at ``oldest`` once there are as many as the capacity.
    private var times: [Duration] = []
    private var oldest = 0

    init(capacity: Int = leastCapacity) {
        self.capacity = capacity
    }

    var isEmpty: Bool { times.isEmpty }

    /// Records a request, and forgets the oldest one if there are too many.
    mutating func add(_ time: Duration) {
        guard times.count == capacity else { return times.append(time) }
        times[oldest] = time
        oldest = (oldest + 1) % capacity
    }

    /// Returns the time from which another request keeps the pace.
    ///
    /// The result is nil if the pace permits more requests than were recorded.
    func nextTime(_ pace: RequestPace) -> Duration? {
        guard pace.count <= times.count else { return nil }
        return times[(oldest + times.count - pace.count) % times.count] + pace.period
    }
}
