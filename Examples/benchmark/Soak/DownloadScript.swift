internal import AsyncDownloads
internal import Foundation

/// The script of one download, determined by the seed and the download's number so that a run can be repeated.
struct DownloadScript: Sendable, Hashable {
    /// An action of the download's holder during the download.
    enum Step: Sendable, Hashable, CaseIterable {
        case pause, resume, pauseAndResume, yield, look, linger, awaitBytes
    }

    /// The last action of the download's holder.
    enum LastStep: Sendable, Hashable, CaseIterable {
        /// Waits until the download has ended.
        case stay
        case cancel
        case discard
        /// Cancels the tasks that listen and await, and starts a waiting one before if there is neither.
        case cancelTasks
    }

    let number: Int
    /// The index of the requested resource.
    let resource: Int
    /// The query of the URL; downloads of a resource with equal queries can share a transfer.
    let variant: Int
    /// The index of the destination among the destinations of the resource; if nil, the downloader chooses the name.
    let slot: Int?
    let listens: Bool
    let awaits: Bool
    let steps: [Step]
    let lastStep: LastStep
    let duplicatePolicy: DuplicatePolicy
    let priority: DownloadRequest.Priority
    let deadline: Duration?

    /// Generates the script of download `number`, which requests one of `resourceCount` resources.
    init(number: Int, seed: UInt64, resourceCount: Int) {
        // The output of the first generator seeds the second one, so that consecutive numbers have unrelated sequences.
        var mixing = SplitMix64(seed: seed ^ UInt64(number) &* 0xD6E8_FEB8_6659_FD93)
        var random = SplitMix64(seed: mixing.next())
        func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
        self.number = number
        resource = Int.random(in: 0..<resourceCount, using: &random)
        variant = Int.random(in: 0..<6, using: &random)
        slot = chance(90) ? Int.random(in: 0..<4, using: &random) : nil
        listens = chance(50)
        awaits = chance(60)
        steps = (0..<Int.random(in: 0...4, using: &random)).compactMap { _ in
            Step.allCases.randomElement(using: &random)
        }
        lastStep = chance(55) ? .stay : LastStep.allCases.randomElement(using: &random) ?? .stay
        // Few downloads meet another one of their URL; each policy has to apply in a thousand downloads.
        duplicatePolicy = chance(70) ? .coalesce : chance(60) ? .cancelExisting : .reject
        priority = chance(80) ? .normal : chance(50) ? .high : .low
        // The long deadlines never expire, and test that their timers are released.
        deadline = chance(60) ? nil : chance(90) ? .seconds(3600) : .milliseconds(5)
    }

    /// Returns the request for a resource of `site`.
    func request(_ site: SoakSite) -> DownloadRequest {
        let url = site.url(resource, variant: variant)
        var request: DownloadRequest
        if let slot {
            let name = "\(resource)-\(variant)-\(slot)"
            request = DownloadRequest(from: url, to: site.directory.appending(path: name), priority: priority)
        } else {
            request = DownloadRequest(from: url, into: site.directory, priority: priority)
        }
        request.duplicatePolicy = duplicatePolicy
        request.deadline = deadline.map { TimeLimit($0) }
        return request
    }

    /// Returns whether the download may fail with this code.
    func mayEnd(with code: DownloadError.Code) -> Bool {
        switch code {
        case .cancelled: lastStep != .stay
        case .duplicate: duplicatePolicy == .reject
        // A deadline ends only its own download.
        case .deadlineExceeded: deadline != nil
        // Another download can supersede any download.
        case .superseded: true
        case .contentChanged: SoakSite.mayChange(resource)
        default: false
        }
    }
}
