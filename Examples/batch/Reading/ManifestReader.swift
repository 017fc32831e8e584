internal import AsyncDownloads
internal import Foundation

/// A manifest whose lines are read as they are needed, on a queue whose thread may wait for a pipe.
final class ManifestReader: Sendable {
    /// Entries that were read together.
    struct Part: Sendable {
        var entries: [ManifestParser.Entry] = []
        /// Whether no others follow.
        var isLast = false
    }

    private struct Progress {
        var input: ManifestInput?
        var parser: ManifestParser
    }

    /// The time after which a URL is known to have no more options, and after which a part ends, if no lines arrive.
    private static let patience = Duration.milliseconds(300)

    /// The name of the manifest in messages, without secrets.
    let name: String
    /// The number of entries of a part, which limits the memory for entries that wait.
    private let partLength: Int
    private let path: String
    private let queue = DispatchQueue(label: "batch.manifest")
    /// The state of reading, which only the queue uses.
    private let progress: Mutex<Progress>
    private let waiting = Mutex(Waiting())

    private struct Waiting {
        var continuation: CheckedContinuation<Result<Part, ManifestFailure>, Never>?
        var isCanceled = false
    }

    /// Creates a reader, which opens the manifest later.
    init(_ path: String, _ parser: ManifestParser, partLength: Int = 1000) {
        (self.path, self.partLength) = (path, partLength)
        // A path that looks like a URL is probably a misplaced one, and may contain secrets.
        let isPlain = !path.unicodeScalars.contains(where: "?#@".unicodeScalars.contains) && !path.contains("://")
        name = path == "-" ? "standard input" : isPlain ? path : "the manifest"
        progress = Mutex(Progress(parser: parser))
    }

    /// Returns the next entries, as many as have arrived, but at least one unless the part is the last one or the wait was
    /// canceled.
    func next() async throws(ManifestFailure) -> Part {
        let result = await withCheckedContinuation { continuation in
            let isCanceled = waiting.withLock { waiting in
                waiting.continuation = continuation
                return waiting.isCanceled
            }
            if isCanceled { return end(with: .success(Part())) }
            queue.async { [self] in
                end(
                    with: progress.withLock { progress in
                        Result { () throws(ManifestFailure) in try read(&progress) }
                    })
            }
        }
        return try result.get()
    }

    /// Ends all waits for the next entries, with a part that has none and isn't the last one.
    func cancel() {
        waiting.withLock { $0.isCanceled = true }
        end(with: .success(Part()))
    }

    private func end(with result: Result<Part, ManifestFailure>) {
        let continuation = waiting.withLock { waiting in
            defer { waiting.continuation = nil }
            return waiting.continuation
        }
        continuation?.resume(returning: result)
    }

    private func read(_ progress: inout Progress) throws(ManifestFailure) -> Part {
        do throws(Misuse) {
            if progress.input == nil { progress.input = try ManifestInput(opening: path) }
        } catch {
            throw ManifestFailure(name: name, line: nil, misuse: error)
        }
        do throws(ManifestError) {
            return try part(&progress)
        } catch {
            throw ManifestFailure(name: name, line: error.line, misuse: error.misuse)
        }
    }

    private func part(_ progress: inout Progress) throws(ManifestError) -> Part {
        var part = Part()
        var end: ContinuousClock.Instant?
        while part.entries.count < partLength {
            if let line = progress.input?.nextLine() {
                if let entry = try progress.parser.take(line) { part.entries.append(entry) }
                continue
            }
            let patience = progress.parser.hasPending ? Self.patience : nil
            if !part.entries.isEmpty, end == nil { end = .now + Self.patience }
            switch try receive(&progress, within: end.map { $0 - .now } ?? patience) {
            case .bytes: continue
            case .none:
                if part.entries.isEmpty { part.add(progress.parser.complete()) }
                return part
            case .end:
                if let line = progress.input?.lastLine() { part.add(try progress.parser.take(line)) }
                part.add(progress.parser.complete())
                part.isLast = true
                return part
            }
        }
        return part
    }

    private func receive(
        _ progress: inout Progress, within limit: Duration?
    ) throws(ManifestError) -> ManifestInput.Piece {
        do throws(Misuse) {
            return try progress.input?.receive(within: limit) ?? .end
        } catch {
            throw ManifestError(line: progress.parser.lineCount + 1, misuse: error)
        }
    }
}

extension ManifestReader.Part {
    fileprivate mutating func add(_ entry: ManifestParser.Entry?) {
        if let entry { entries.append(entry) }
    }
}

/// An error of a manifest, with its name and, if a line is the reason, the number of the line.
struct ManifestFailure: UserError, Hashable {
    let name: String
    let line: Int?
    let misuse: Misuse

    var description: String { name + (line.map { ":\($0)" } ?? "") + ": \(misuse)" }
}
