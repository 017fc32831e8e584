import AsyncDownloads
import LoopbackServer
import Testing

/// One row of the conformance tables: what a server does, and what has to come of it on every engine.
struct Scenario: Sendable, CustomTestStringConvertible {
    enum Outcome: Sendable {
        /// The content, byte for byte.
        case file(Content)
        /// These bytes as the server coded them, or the content where the engine decodes it.
        case coded([UInt8], of: Content)
        /// This error, and this many bytes kept at least.
        case failure(DownloadError.Code, kept: ClosedRange<Int64> = 0...0)
    }

    /// The numbers of the rules of resumption that it proves.
    var rules: [Int]
    var name: String
    var resource: Resource
    var outcome: Outcome
    /// The first byte asked for by each request; nil where it does not matter, or differs between engines.
    var offsets: [Int64]?
    /// Why bytes were given up; nil where it depends on how much the engine had read.
    var restarts: [RestartReason]? = []
    /// Offsets that the server confirmed; nil where it depends on how much the engine had read.
    var resumptions: [Int64]? = []
    /// How many requests for a rest carry no condition, on engines that ask for the rest in one piece (rule 34).
    var unconditionalCount = 0
    /// Engines on which it cannot be run, with the platform's reason.
    var impossible: [Engine: String] = [:]

    var testDescription: String { "rules \(rules.map(String.init).joined(separator: ", ")): \(name)" }
}

extension Scenario {
    static let length: Int64 = 300_000
    static let cut: Int64 = 100_000
    static let content = Content(seed: 1, length: length)
    static let changed = Content(seed: 2, length: length + 7)
    static let tag = "\"v1\""

    /// The object whose first response is cut, and whose second answer is `second`.
    static func interrupted(_ second: Step, then rest: Step...) -> Resource {
        scripted([[.cut(after: cut)], second] + rest)
    }

    /// The object whose requests are answered by the script, and plainly after it.
    static func scripted(_ script: [Step]) -> Resource {
        Resource(content, entityTag: tag, script: script)
    }

    /// Every validator that the resource ever has, as it may be sent back.
    var validators: Set<String> {
        var validators: [String?] = [resource.entityTag ?? resource.lastModified]
        for case .replaceContent(_, let tag, let date) in resource.script.flatMap(\.faults) {
            validators += [tag, date]
        }
        return Set(validators.compactMap { $0 })
    }

    /// Keeps a case from URLSession on Linux, for this reason.
    func exceptOnLinuxURLSession(_ reason: String) -> Self {
        var copy = self
        #if canImport(FoundationNetworking)
        copy.impossible[.urlSession] = reason
        #endif
        return copy
    }

    func on(_ change: (inout Resource) -> Void) -> Self {
        var copy = self
        change(&copy.resource)
        return copy
    }
}
