internal import AsyncDownloads
internal import Foundation

/// The use of a staged directory by a session.
extension StagedDirectory {
    /// Returns an event with the URL that a finished file will have.
    func published(_ event: DownloadEvent) -> DownloadEvent {
        guard case .finished(var file) = event else { return event }
        file.url = publishedURL(of: file.url)
        return .finished(file)
    }

    /// Replaces the directory if all downloads have succeeded, or keeps the files for the next run; returns the outcome.
    func ended(_ outcome: RunOutcome) async -> RunOutcome {
        var outcome = outcome
        let name = destination.lastPathComponent.distinctFromOptions
        if outcome.exitStatus(signal: nil) == 0, !outcome.tally.isInterrupted {
            do throws(DownloadError) {
                try await publish()
                outcome.tally.isPublished = true
                return outcome
            } catch {
                outcome.publicationFailure = "failed    \(name): \(error)"
                // The directory was replaced, but perhaps not durably.
                outcome.tally.isPublished = !FileManager.default.fileExists(atPath: url.path)
            }
        } else {
            outcome.publicationFailure = "\(name) is unchanged"
            outcome.tally.isPublished = false
        }
        await close()
        if FileManager.default.fileExists(atPath: url.path) {
            outcome.publicationFailure? += "; the next run continues with the files in \(url.lastPathComponent)"
        }
        return outcome
    }
}
