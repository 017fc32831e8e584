internal import AsyncDownloads
internal import Foundation

extension DownloadScript {
    /// Performs the download, and records in `tally` how it ended and what was wrong.
    func run(_ downloader: Downloader, _ site: SoakSite, _ tally: Tally) async {
        let download = downloader.start(request(site))
        tally.begin(download)
        let listener = listens ? Task { await StreamRecord(of: download) } : nil
        var waiter = awaits ? Task { await download.result } : nil
        for step in steps { await perform(step, on: download) }
        switch lastStep {
        case .stay: break
        case .cancel: download.cancel()
        case .discard: download.discard()
        case .cancelTasks:
            if listener == nil, waiter == nil { waiter = Task { await download.result } }
            listener?.cancel()
            waiter?.cancel()
        }
        // Without this call, a download whose holder waits for its end could remain paused.
        download.resume()
        await settle(download, listener, waiter, site, tally)
    }

    private func perform(_ step: Step, on download: Download) async {
        switch step {
        case .pause: download.pause()
        case .resume: download.resume()
        case .pauseAndResume:
            download.pause()
            download.resume()
        case .yield: await Task.yield()
        case .look: _ = (download.state, download.progress)
        case .linger: await Self.pass()
        case .awaitBytes:
            for _ in 0..<50 where download.progress.receivedByteCount == 0 && !download.state.isFinal {
                await Self.pass()
            }
        }
    }

    /// Waits for a millisecond.
    private static func pass() async {
        // The sleep never throws, because the task is never canceled.
        try? await Task.sleep(for: .milliseconds(1))
    }

    /// Waits until the download has ended for the listener and the waiter, and compares the reported outcomes.
    private func settle(
        _ download: Download, _ listener: Task<StreamRecord, Never>?, _ waiter: Task<Outcome, Never>?, _ site: SoakSite,
        _ tally: Tally
    ) async {
        if listener == nil, waiter == nil {
            // No task follows the download, so its state is polled.
            while !download.state.isFinal { await Self.pass() }
        }
        let received = await listener?.value
        let awaited = await waiter?.value
        let outcome = await download.result
        let isCancelled = lastStep == .cancelTasks
        if let awaited, !isCancelled, awaited.ending != outcome.ending {
            tally.note("\(self): the first result was \(awaited.ending), a later one \(outcome.ending)")
        }
        if let received {
            if !isCancelled, received.outcome?.ending != outcome.ending {
                let ending = received.outcome?.ending ?? "no terminal event"
                tally.note("\(self): the stream ended with \(ending), the result was \(outcome.ending)")
            }
            if received.finishCount > 1 { tally.note("\(self): the stream finished \(received.finishCount) times") }
            tally.add(received)
        }
        if !download.state.isFinal { tally.note("\(self): the state was \(download.state) after the end") }
        if case .failure(let error) = outcome, !mayEnd(with: error.code) { tally.note("\(self): \(error)") }
        if case .success(let file) = outcome, !site.holds(resource, at: file.url) {
            tally.note("\(self): wrong bytes in \(file.url.lastPathComponent)")
        }
        tally.end(download, outcome)
    }
}

extension DownloadScript: CustomStringConvertible {
    var description: String { "download \(number) of resource \(resource)" }
}

/// The end of a download.
typealias Outcome = Result<DownloadedFile, DownloadError>

extension Outcome {
    /// The name of the outcome, for comparisons and counts.
    var ending: String {
        switch self {
        case .success: "finished"
        case .failure(let error): error.code.name
        }
    }
}

extension Download {
    /// The outcome of the download, available once it has ended.
    var result: Outcome {
        get async {
            do throws(DownloadError) {
                return .success(try await file)
            } catch {
                return .failure(error)
            }
        }
    }
}
