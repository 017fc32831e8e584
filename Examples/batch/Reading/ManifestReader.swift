internal import AsyncDownloads
internal import Foundation

/// A manifest whose lines are read as they are needed, on a queue whose thread may wait for a pipe.
final class ManifestReader: Sendable {
    /// Entries that were read together.
    struct Part: Sendable {
        var entries: [ManifestParser.Entry] = []
        /// Whether no others follow.
        var isLast = false
        /// The error after these entries, because of which no others follow.
        var failure: ManifestFailure?
    }

    private struct Progress {
        var input: ManifestInput?
        var parser: ManifestParser
    }

    /// The name of the manifest in messages, without secrets.
    let name: String
    /// The number of entries of a part, which limits the memory for entries that wait.
    private let partLength: Int
    /// The time after which a URL is known to have no more options, and after which a part ends, if nothing arrives; nil if
    /// entries aren't needed before they are complete.
    private let patience: Duration?
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
    init(
        _ path: String, _ parser: ManifestParser, partLength: Int = 1000, patience: Duration? = .milliseconds(300)
    ) {
        (self.path, self.partLength, self.patience) = (path, partLength, patience)
        // A path that looks like a URL is probably a misplaced one, and may contain secrets.
        let isPlain = !path.unicodeScalars.contains(where: "?#@".unicodeScalars.contains) && !path.contains("://")
        name = path == "-" ? "standard input" : isPlain ? path : "the manifest"
        progress = Mutex(Progress(parser: parser))
    }

    /// Whether reading may wait for another program, because the manifest isn't a regular file.
    var mayWait: Bool {
        var status = stat()
        return path == "-" || stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    }

    /// Returns the next entries, as many as have arrived, but at least one unless the part is the last one or the wait was
    /// canceled.
    ///
    /// - Throws: The error of a manifest without an entry before it; otherwise, the part contains the error.
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
        var part = Part()
        do throws(ManifestError) {
            try fill(&part, from: &progress)
        } catch {
            let failure = ManifestFailure(name: name, line: error.line, misuse: error.misuse)
            guard !part.entries.isEmpty else { throw failure }
            part.failure = failure
        }
        return part
    }

    private func fill(_ part: inout Part, from progress: inout Progress) throws(ManifestError) {
        var end: ContinuousClock.Instant?
        while part.entries.count < partLength {
            if let line = progress.input?.nextLine() {
                try parse(line, &progress, &part)
                continue
            }
            // The option of a line that hasn't arrived completely belongs to the entry.
            let mayComplete = progress.parser.hasPending && progress.input?.isInsideIndentedLine != true
            if !part.entries.isEmpty, end == nil { end = patience.map { .now + $0 } }
            switch try receive(&progress, within: end.map { $0 - .now } ?? (mayComplete ? patience : nil)) {
            case .bytes: continue
            case .none:
                if part.entries.isEmpty { part.add(progress.parser.complete()) }
                return
            case .end:
                if let line = progress.input?.lastLine() { try parse(line, &progress, &part) }
                part.add(progress.parser.complete())
                part.isLast = true
                return
            }
        }
    }

    private func parse(
        _ line: ArraySlice<UInt8>, _ progress: inout Progress, _ part: inout Part
    ) throws(ManifestError) {
        do throws(ManifestError) {
            part.add(try progress.parser.take(line))
        } catch {
            // The entry above the line is complete, unless the line belongs to it.
            part.add(progress.parser.complete())
            throw error
        }
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
