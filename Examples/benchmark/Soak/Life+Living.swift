#if ServerStack
internal import AsyncDownloads
internal import Foundation

extension Life {
    /// Goes through it, and notes how it ended and what was wrong.
    func live(_ downloader: Downloader, _ site: SoakSite, _ tally: Tally) async {
        let download = downloader.start(request(site))
        tally.begin(download)
        let listener = listens ? Task { await Story(of: download) } : nil
        var waiter = awaits ? Task { await download.result } : nil
        for act in acts { await perform(act, on: download) }
        switch farewell {
        case .stay: break
        case .cancel: download.cancel()
        case .discard: download.discard()
        case .cancelTasks:
            if listener == nil, waiter == nil { waiter = Task { await download.result } }
            listener?.cancel()
            waiter?.cancel()
        }
        // Whoever stays must not stay paused.
        download.resume()
        await settle(download, listener, waiter, site, tally)
    }

    private func perform(_ act: Act, on download: Download) async {
        switch act {
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

    /// Lets a moment pass; nobody cancels the task that lives.
    private static func pass() async {
        try? await Task.sleep(for: .milliseconds(1))
    }

    /// Waits until it has ended for all who follow it, and compares what each was told.
    private func settle(
        _ download: Download, _ listener: Task<Story, Never>?, _ waiter: Task<Outcome, Never>?, _ site: SoakSite,
        _ tally: Tally
    ) async {
        if listener == nil, waiter == nil {
            // Nobody is told, so somebody looks.
            while !download.state.isFinal { await Self.pass() }
        }
        let story = await listener?.value
        let awaited = await waiter?.value
        let outcome = await download.result
        let isCancelled = farewell == .cancelTasks
        if let awaited, !isCancelled, awaited.ending != outcome.ending {
            tally.note("\(self): awaited \(awaited.ending), then \(outcome.ending)")
        }
        if let story {
            if !isCancelled, story.outcome?.ending != outcome.ending {
                tally.note("\(self): heard \(story.outcome?.ending ?? "no end"), awaited \(outcome.ending)")
            }
            if story.finishCount > 1 { tally.note("\(self): finished \(story.finishCount) times") }
            tally.add(story)
        }
        if !download.state.isFinal { tally.note("\(self): \(download.state) after its end") }
        if case .failure(let error) = outcome, !mayEnd(with: error.code) { tally.note("\(self): \(error)") }
        if case .success(let file) = outcome, !site.holds(resource, at: file.url) {
            tally.note("\(self): wrong bytes in \(file.url.lastPathComponent)")
        }
        tally.end(download, outcome)
    }
}

extension Life: CustomStringConvertible {
    var description: String { "download \(number) of resource \(resource)" }
}

/// How a download ended.
typealias Outcome = Result<DownloadedFile, DownloadError>

extension Outcome {
    /// The same end for everyone who is told of one download.
    var ending: String {
        switch self {
        case .success: "finished"
        case .failure(let error): error.code.name
        }
    }
}

extension Download {
    /// How it ends, awaited.
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
#endif
