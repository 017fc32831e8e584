#if ServerStack
internal import AsyncDownloads
internal import Foundation

/// What one download goes through: given by the seed and its number alone, so that a run can be had again.
struct Life: Sendable, Hashable {
    /// Something that its holder does while it runs.
    enum Act: Sendable, Hashable, CaseIterable {
        case pause, resume, pauseAndResume, yield, look, linger, awaitBytes
    }

    /// What its holder does at last.
    enum Farewell: Sendable, Hashable, CaseIterable {
        /// Stays until the download has ended.
        case stay
        case cancel
        case discard
        /// Cancels the tasks that listen and await, one where there is none.
        case cancelTasks
    }

    let number: Int
    /// Which resource of the site it asks for.
    let resource: Int
    /// The query of its URL: equal ones share a transfer.
    let variant: Int
    /// Which of the resource's destinations it names; nil leaves the name to the downloader.
    let slot: Int?
    let listens: Bool
    let awaits: Bool
    let acts: [Act]
    let farewell: Farewell
    let duplicatePolicy: DuplicatePolicy
    let priority: DownloadRequest.Priority
    let deadline: Duration?

    /// Draws the life of download `number` among so many resources.
    init(number: Int, seed: UInt64, resourceCount: Int) {
        // Neighbouring seeds of the generator give unrelated sequences, but the same ones one step apart.
        var mixing = SplitMix64(seed: seed ^ UInt64(number) &* 0xD6E8_FEB8_6659_FD93)
        var random = SplitMix64(seed: mixing.next())
        func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
        self.number = number
        resource = Int.random(in: 0..<resourceCount, using: &random)
        variant = Int.random(in: 0..<6, using: &random)
        slot = chance(90) ? Int.random(in: 0..<4, using: &random) : nil
        listens = chance(50)
        awaits = chance(60)
        acts = (0..<Int.random(in: 0...4, using: &random)).compactMap { _ in Act.allCases.randomElement(using: &random)
        }
        farewell = chance(55) ? .stay : Farewell.allCases.randomElement(using: &random) ?? .stay
        duplicatePolicy = chance(90) ? .coalesce : chance(50) ? .cancelExisting : .reject
        priority = chance(80) ? .normal : chance(50) ? .high : .low
        // The long ones never come, and must be forgotten all the same.
        deadline = chance(60) ? nil : chance(95) ? .seconds(3600) : .milliseconds(5)
    }

    /// What it asks `site` for.
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
        request.deadline = deadline
        return request
    }

    /// Whether its end may be this one.
    func mayEnd(with code: DownloadError.Code) -> Bool {
        switch code {
        case .cancelled: farewell != .stay
        case .duplicate: duplicatePolicy == .reject
        // The deadline of a shared transfer is that of its first caller.
        case .superseded, .deadlineExceeded: true
        case .contentChanged: SoakSite.mayChange(resource)
        default: false
        }
    }
}
#endif
