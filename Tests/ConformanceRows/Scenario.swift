package import AsyncDownloads
package import LoopbackServer

/// A row of the conformance tables: the behavior of a server and the expected outcome on every engine.
package struct Scenario: Sendable {
    package enum Outcome: Sendable {
        /// The file contains this content, byte for byte.
        case file(Content)
        /// The file contains these coded bytes, or the content if the engine decodes it.
        case coded([UInt8], of: Content)
        /// The download fails with this error, and the number of kept bytes is in the range.
        case failure(DownloadError.Code, kept: ClosedRange<Int64> = 0...0)
    }

    /// The numbers of the rules of resumption that the row proves.
    package var rules: [Int]
    package var name: String
    package var resource: Resource
    package var outcome: Outcome
    /// The first position that each request asks for; `nil` if it is irrelevant or differs between engines.
    package var offsets: [Int64]?
    /// The reasons of the restarts; `nil` if they depend on how much the engine has read.
    package var restarts: [RestartReason]? = []
    /// The offsets at which the server confirmed a resumption; `nil` if they depend on how much the engine has read.
    package var resumptions: [Int64]? = []
    /// The number of requests for remaining bytes without a condition, on engines that request all of these at once.
    ///
    /// See rule 34.
    package var unconditionalCount = 0
    /// The engines on which the row can't run, with the platform's reason.
    package var impossible: [Downloader.TransportChoice: String] = [:]
}

extension Scenario {
    static let length: Int64 = 300_000
    static let cut: Int64 = 100_000
    static let content = Content(seed: 1, length: length)
    static let changed = Content(seed: 2, length: length + 7)
    static let tag = "\"v1\""

    /// Returns a resource whose first response is truncated and whose second response is `second`.
    static func interrupted(_ second: Step, then rest: Step...) -> Resource {
        scripted([[.cut(after: cut)], second] + rest)
    }

    /// Returns a resource that responds according to the script, and without faults after it.
    static func scripted(_ script: [Step]) -> Resource {
        Resource(content, entityTag: tag, script: script)
    }

    /// Every validator that the resource has at any time, as a client may send it back.
    package var validators: Set<String> {
        var validators: [String?] = [resource.entityTag ?? resource.lastModified]
        for case .replaceContent(_, let tag, let date) in resource.script.flatMap(\.faults) {
            validators += [tag, date]
        }
        return Set(validators.compactMap { $0 })
    }

    /// Returns the row without URLSession on Linux, for the given reason.
    func exceptOnLinuxURLSession(_ reason: String) -> Self {
        var copy = self
        #if canImport(FoundationNetworking)
        copy.impossible[.urlSession] = reason
        #endif
        return copy
    }

    /// Returns the row with a change to its resource.
    func on(_ change: (inout Resource) -> Void) -> Self {
        var copy = self
        change(&copy.resource)
        return copy
    }
}
