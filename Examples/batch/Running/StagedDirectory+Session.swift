internal import AsyncDownloads
internal import Foundation

/// The use of a staged directory by a session.
extension StagedDirectory {
    /// Makes the item's file a file of the staged directory; an unchanged file of the old version is used again.
    func stage(_ item: inout Item) async {
        // If the path is unusable, the download reports the error.
        _ = try? await url(for: item.path)
        item.directory = url
    }

    /// Adds a file that has been finished, and returns the event with the URL that the file will have.
    func adding(_ event: DownloadEvent) -> DownloadEvent {
        guard case .finished(var file) = event else { return event }
        add(file)
        file.url = publishedURL(of: file.url)
        return .finished(file)
    }

    /// Replaces the directory if all downloads have succeeded; otherwise keeps the files for the next run.
    func end(_ outcome: inout RunOutcome, signal: Int32?) async {
        let name = destination.lastPathComponent.distinctFromOptions
        guard outcome.exitStatus(signal: signal) == 0 else {
            await close()
            outcome.publicationFailure = "\(name) is unchanged; the next run uses the finished files again"
            return
        }
        do throws(DownloadError) {
            try await publish()
        } catch {
            await close()
            outcome.publicationFailure = "failed    \(name) is unchanged: \(error)"
        }
    }
}
