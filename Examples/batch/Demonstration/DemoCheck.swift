#if ServerStack
internal import LoopbackServer

/// What one special file of the demonstration showed, and whether that is what was promised.
struct DemoCheck: Sendable, Hashable {
    let isAsPromised: Bool
    let text: String

    /// - Parameters:
    ///   - observations: What was seen of the downloads of the file.
    ///   - requests: What the server saw of them.
    ///   - sent: How many bytes the server sent for them.
    init(
        _ part: DemoFile.Part, of demoFile: DemoFile, observations: [Observations.DemoObservation],
        requests: [RecordedRequest],
        sent: Int64
    ) {
        let length = demoFile.content.length
        let offset = observations.first?.resumedAt.last
        let resumption = offset.map { "resumed at byte \($0)" } ?? "not resumed"
        let story: String
        switch part {
        case .connectionLost:
            // What was on its way when the connection went may be lost; nothing else is sent twice.
            isAsPromised = (offset ?? 0) > 0 && sent == DemoFile.interruption + length - (offset ?? 0)
            story = "the connection was lost, \(resumption) of \(length)"
        case .busy:
            let delay = observations.first?.retryDelays.first ?? .zero
            isAsPromised = observations.first?.retryStatus == 503 && delay >= .seconds(1) && requests.count > 1
            story = "503 with Retry-After: 1, asked again after \(Units.seconds(delay))"
        case .sharedTransfer:
            isAsPromised =
                observations.count == 2 && sent == length && observations.reduce(0) { $0 + $1.fetched } == length
            story = "asked for twice, fetched once"
        case .pausedMidway:
            let paused = observations.first?.pausedAt.first
            isAsPromised = (paused ?? 0) > 0 && paused == offset && requests.last?.status == 206
            story = "paused at byte \(paused ?? 0), \(resumption) of \(length)"
        }
        let seen = "the server saw \(Units.count(requests.count, "request"))"
        text = "\(demoFile.name.padded(to: 12))\(isAsPromised ? "as promised" : "NOT AS PROMISED"): \(story); \(seen)"
    }
}
#endif
