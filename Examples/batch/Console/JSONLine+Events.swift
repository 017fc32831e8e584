internal import AsyncDownloads
internal import Foundation

extension JSONLine {
    /// Creates the line for `event`; nil if the format has no line for it.
    ///
    /// - Parameter keepsFiles: Whether existing files are kept regardless of their contents.
    init?(_ event: RunEvent, keepsFiles: Bool = false) {
        switch event.what {
        case .success(.finished(let file)) where file.isReused:
            self.init("skipped", event)
            add("reason", keepsFiles ? "exists" : "unchanged")
        case .success(let happened):
            self.init(happened, event)
        case .failure(let error):
            self.init("failed", event)
            add(error)
        }
        add("time", event.time)
    }

    /// Creates the summary, the last line of a run.
    init(_ tally: Tally) {
        add("event", "summary")
        add("finished", tally.finished - tally.skipped)
        add("failed", tally.failed)
        add("skipped", tally.skipped)
        add("bytes", tally.bytes)
        add("fetched", tally.fetched)
        add("seconds", tally.duration)
        if let isPublished = tally.isPublished { add("published", isPublished) }
        add("time", tally.duration)
    }

    /// Creates the element of a report for the end of a download, or for a pause, which ends it in this run; nil for any other
    /// event.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - id: The number of the download; nil for the number of its item.
    ///   - path: The path of a finished file; nil for its absolute path.
    ///   - sha256: The digest of a finished file.
    init?(result event: RunEvent, id: Int? = nil, path: String? = nil, sha256: String?) {
        add("id", id ?? event.item.id)
        add("url", event.item.address.url.redacted)
        switch event.what {
        case .success(.finished(let file)):
            add("result", file.isReused ? "skipped" : "finished")
            add("path", path ?? file.url.path)
            add("bytes", file.byteCount)
            add("seconds", event.elapsed)
            add("fetched", event.fetched)
            add("sha256", sha256)
            add("entityTag", file.entityTag)
        case .failure(let error):
            add("result", "failed")
            add(error)
            add("message", error.description)
        case .success(.paused(let received)):
            add("result", "paused")
            add("received", received)
        case .success: return nil
        }
    }

    /// Creates the members of a report besides its elements.
    init(report tally: Tally) {
        add("interrupted", tally.isInterrupted)
        add("finished", tally.finished - tally.skipped)
        add("failed", tally.failed)
        add("skipped", tally.skipped)
        add("paused", tally.paused)
        add("bytes", tally.bytes)
        add("fetched", tally.fetched)
        add("seconds", tally.duration)
        if let isPublished = tally.isPublished { add("published", isPublished) }
    }

    /// Creates the only line of `--clean`.
    init(_ removed: RemovedLeftovers) {
        add("event", "cleaned")
        add("files", removed.fileCount)
        add("bytes", removed.byteCount)
    }

    private mutating func add(_ error: DownloadError) {
        add("code", error.code.name)
        add("status", error.statusCode)
        add("retryable", error.mayPass)
        add("kept", error.retainedByteCount)
    }

    private init(_ name: String, _ event: RunEvent) {
        add("event", name)
        add("id", event.item.id)
        if let place = event.item.unit {
            add("unit", place.unit)
            add("line", place.id)
        }
    }

    private init?(_ happened: DownloadEvent, _ event: RunEvent) {
        switch happened {
        case .started(let total, let isResumable, _, _):
            self.init("started", event)
            add("url", event.item.address.url.redacted)
            add("total", total)
            add("resumable", isResumable)
        case .resumed(let offset):
            self.init("resumed", event)
            add("offset", offset)
        case .restarted(let reason, let discarded):
            self.init("restarted", event)
            add("reason", reason.name)
            add("discarded", discarded)
        case .waiting(let reason):
            guard let delay = event.waitingTime else { return nil }
            self.init("waiting", event)
            add("url", event.item.address.url.redacted)
            add("reason", reason.name)
            add("delay", delay)
        case .retrying(let attempt, let delay, let error):
            self.init("retrying", event)
            add("attempt", attempt)
            add("delay", delay)
            add("error", error.code.name)
        case .progress(let progress):
            self.init("progress", event)
            add("received", progress.receivedByteCount)
            add("total", progress.expectedByteCount)
            add("bytesPerSecond", progress.bytesPerSecond.flatMap { Int64(exactly: $0.rounded()) })
            add("connections", progress.connectionCount)
        case .paused(let received):
            self.init("paused", event)
            add("received", received)
        case .finished(let file):
            self.init("finished", event)
            add("path", file.url.path)
            add("bytes", file.byteCount)
            add("seconds", event.elapsed)
            add("fetched", event.fetched)
            add("sha256", event.sha256)
            add("entityTag", file.entityTag)
        default:
            return nil
        }
    }
}
