internal import AsyncDownloads
internal import Foundation
internal import LoopbackServer

/// Two downloads of the demonstration that are controlled through their handles, after the downloads of the list.
struct HandleDemonstration: Sendable {
    let server: LoopbackServer
    let directory: URL

    /// Pauses a download into memory, reports memory pressure, and resumes the download.
    func releaseFromMemory() async throws -> Observations.DemoObservation {
        let pressure = ManualMemoryPressure()
        var configuration = Downloader.Configuration()
        configuration.memoryPressure = .manual(pressure)
        configuration.partialsDirectory = directory
        return try await with(configuration, .released) { downloader, url in
            let download = downloader.start(DownloadRequest(from: url, to: .memory))
            return try await observe(download, of: .released) { event, observation in
                switch event {
                case .progress(let progress) where progress.isInterrupted && observation.pausedAt.isEmpty:
                    download.pause()
                case .paused:
                    pressure.report(.warning)
                    pressure.report(.normal)
                    download.resume()
                default: break
                }
            }
        }
    }

    /// Cancels a download to a file, and requests it again.
    func cancelAndRepeat() async throws -> [Observations.DemoObservation] {
        try await with(Downloader.Configuration(), .canceled) { downloader, url in
            let request = DownloadRequest(from: url, to: directory.appending(path: DemoFile.canceled.name))
            let first = downloader.start(request)
            let canceled = try await observe(first, of: .canceled) { event, _ in
                if case .progress(let progress) = event, progress.isInterrupted { first.cancel() }
            }
            return [canceled, try await observe(downloader.start(request), of: .canceled) { _, _ in }]
        }
    }

    private func with<Value: Sendable>(
        _ configuration: Downloader.Configuration, _ demoFile: DemoFile,
        _ body: (Downloader, URL) async throws -> Value
    ) async throws -> Value {
        server.serve(demoFile.resource, at: demoFile.name)
        let downloader = Downloader(configuration: configuration)
        let value = try await body(downloader, server.url(demoFile.name))
        await downloader.shutdown()
        return value
    }

    /// Reads the events of a download to its end, and calls `act` with each of them.
    private func observe(
        _ download: Download, of demoFile: DemoFile,
        _ act: (DownloadEvent, Observations.DemoObservation) -> Void
    ) async throws -> Observations.DemoObservation {
        var observation = Observations.DemoObservation()
        do {
            for try await event in download.events {
                observation.take(event, fetched: download.progress.fetchedByteCount)
                act(event, observation)
                if case .finished(let file) = event {
                    let data = try file.data ?? Data(contentsOf: file.url)
                    observation.hasRightBytes =
                        data.count == demoFile.content.length
                        && data.withUnsafeBytes { demoFile.content.matches($0, at: 0) }
                }
            }
        } catch let error as DownloadError where error.code == .cancelled {
            observation.keptOnDisk = error.retainedByteCount
        }
        return observation
    }
}

extension DownloadProgress {
    /// Whether every byte before the interruption has been received.
    fileprivate var isInterrupted: Bool { receivedByteCount >= DemoFile.interruption }
}
