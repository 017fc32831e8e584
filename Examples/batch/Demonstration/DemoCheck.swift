internal import LoopbackServer

/// The behavior of one special file of the demonstration, and whether it is as promised.
struct DemoCheck: Sendable, Hashable {
    let isAsPromised: Bool
    let text: String

    /// Evaluates the downloads of a file.
    ///
    /// - Parameters:
    ///   - part: The part of the file in the demonstration.
    ///   - demoFile: The file.
    ///   - observations: The observations of the file's downloads.
    ///   - requests: The requests that the server received for the file.
    ///   - sent: The number of body bytes that the server sent for the file.
    init(
        _ part: DemoFile.Part, of demoFile: DemoFile, observations: [Observations.DemoObservation],
        requests: [RecordedRequest],
        sent: Int64
    ) {
        let length = demoFile.content.length
        let offset = observations.first?.resumedAt.last
        let resumption = offset.map { "resumed at byte \($0)" } ?? "not resumed"
        let summary: String
        switch part {
        case .connectionLost:
            // Bytes in flight when the connection was lost may be sent again, but no others.
            isAsPromised = (offset ?? 0) > 0 && sent == DemoFile.interruption + length - (offset ?? 0)
            summary = "the connection was lost, \(resumption) of \(length)"
        case .busy:
            let delay = observations.first?.retryDelays.first ?? .zero
            isAsPromised = observations.first?.retryStatus == 503 && delay >= .seconds(1) && requests.count > 1
            summary = "503 with Retry-After: 1, retried after \(Units.seconds(delay))"
        case .sharedTransfer:
            isAsPromised =
                observations.count == 2 && sent == length && observations.reduce(0) { $0 + $1.fetched } == length
            summary = "requested twice, fetched once"
        case .pausedMidway:
            let paused = observations.first?.pausedAt.first
            // With several connections, bytes behind the first gap were received, too.
            isAsPromised =
                (offset ?? 0) > 0 && (offset ?? 0) <= (paused ?? 0) && requests.last?.status == 206
            summary = "paused at byte \(paused ?? 0), \(resumption) of \(length)"
        case .releasedFromMemory:
            let observation = observations.first ?? Observations.DemoObservation()
            let repeated = sent - length
            isAsPromised =
                observation.released == [DemoFile.interruption] && observation.keptOnDisk == DemoFile.interruption
                && offset == DemoFile.interruption && repeated == 0 && observation.hasRightBytes
            summary =
                "\(Units.bytes(observation.released.reduce(0, +))) released from memory at a warning and "
                + "\(Units.bytes(observation.keptOnDisk)) kept on disk, \(resumption) of \(length), "
                + "\(Units.bytes(repeated)) requested again"
        case .canceledMidway:
            let kept = observations.first?.keptOnDisk ?? 0
            let resumed = observations.last?.resumedAt.last
            isAsPromised =
                observations.count == 2 && kept == DemoFile.interruption && resumed == kept && sent == length
                && observations.last?.hasRightBytes == true
            summary =
                "canceled with \(Units.bytes(kept)) kept, requested again, "
                + (resumed.map { "resumed at byte \($0) of \(length)" } ?? "not resumed")
        }
        let seen = "the server received \(Units.count(requests.count, "request"))"
        text = "\(demoFile.name.padded(to: 12))\(isAsPromised ? "as promised" : "NOT AS PROMISED"): \(summary); \(seen)"
    }
}
