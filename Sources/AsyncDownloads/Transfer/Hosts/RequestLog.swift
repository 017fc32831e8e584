/// The spacing of requests at a configured pace (the generic cell rate algorithm; ITU-T I.371).
struct RequestSpacing: Sendable {
    /// The time of the next request if all requests were spaced evenly.
    private var evenTime = Duration.zero

    /// Returns the earliest time at which another request keeps the spacing.
    func nextTime(_ pace: RequestPace) -> Duration { evenTime - pace.interval * (pace.burst - 1) }

    /// Records a request.
    mutating func add(_ time: Duration, _ pace: RequestPace) { evenTime = max(evenTime, time) + pace.interval }

    /// Removes the latest request, because it was not sent.
    mutating func removeLast(_ pace: RequestPace) { evenTime -= pace.interval }
}

/// The times of the latest requests to one host or origin.
struct RequestLog: Sendable {
    /// The number of recorded requests, unless the pace needs more.
    static let leastCapacity = 4096

    private let capacity: Int
    /// The recorded times; when the log is full, the oldest time is at index ``oldest``.
    private var times: [Duration] = []
    private var oldest = 0

    init(capacity: Int = leastCapacity) {
        self.capacity = capacity
    }

    var isEmpty: Bool { times.isEmpty }

    /// Records a request, replacing the oldest one if the log is full.
    mutating func add(_ time: Duration) {
        guard times.count == capacity else { return times.append(time) }
        times[oldest] = time
        oldest = (oldest + 1) % capacity
    }

    /// The time of the latest request.
    var latest: Duration? { times.isEmpty ? nil : times[(oldest + times.count - 1) % times.count] }

    /// Removes the latest request, because it was not sent.
    ///
    /// If the log was full, the request that was replaced is unknown; the log then permits fewer requests than the pace.
    mutating func removeLast() {
        guard oldest == 0 else {
            oldest -= 1
            times[oldest] = times[(oldest + 1) % times.count]
            return
        }
        _ = times.popLast()
    }

    /// Returns the earliest time at which another request keeps the pace.
    ///
    /// The result is nil if the pace permits more requests than were recorded.
    func nextTime(_ pace: RequestPace) -> Duration? {
        guard pace.count <= times.count else { return nil }
        return times[(oldest + times.count - pace.count) % times.count] + pace.period
    }
}
