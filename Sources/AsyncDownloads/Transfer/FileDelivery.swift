internal import Foundation

/// The end of a transfer: the file is checked and put in place.
extension Transfer {
    /// Checks the digests that callers expect, then gives each caller the file at his destination.
    func finishPartial(length: Int64, of representation: Representation) {
        onPartial { [self] partial in
            let result = placed(partial, length: length, representation)
            update { state, decision in
                state.partial = nil
                decision.actions += state.machine.finished(result, at: now)
            }
        }
    }

    private func placed(
        _ partial: any Partial, length: Int64, _ representation: Representation
    ) -> Result<[Int: Subscribers.Outcome], DownloadError> {
        var (callers, fetched, digests) = withState { state in
            (placementCallers(state.subscribers), state.machine.progress.fetchedByteCount, state.digests)
        }
        do throws(DownloadError) {
            try prove(partial, length: length, representation, &digests)
        } catch {
            if error.code == .checksumMismatch { partial.discard() } else { partial.close() }
            return .failure(error)
        }
        var results: [Int: Subscribers.Outcome] = [:]
        var paths: [String] = []
        var takers: [String: [Int]] = [:]
        var readers: [Int] = []
        for (number, request) in callers {
            do throws(DownloadError) {
                try check(request.checksum, partial, length: length, representation, &digests)
            } catch {
                results[number] = .failure(error)
                continue
            }
            guard let path = path(for: request.destination, representation) else {
                readers.append(number)
                continue
            }
            if takers[path] == nil { paths.append(path) }
            takers[path, default: []].append(number)
        }
        if !readers.isEmpty {
            let outcome = Result { () throws(DownloadError) in try partial.contents(length: length) }.map { data in
                DownloadedFile(nil, length: length, fetched: fetched, representation, data: data)
            }
            for number in readers { results[number] = outcome }
        }
        // Whoever was the last and discarded while the bytes were being checked wants no file of them.
        if withState({ $0.machine.wish == .discard }) {
            partial.discard()
            return .success(results)
        }
        guard !paths.isEmpty else {
            // Bytes that nobody needs any more are kept only if they might be right: when reading them failed.
            let isOver = results.values.contains { (try? $0.get()) != nil || $0.code == .checksumMismatch }
            if isOver { partial.discard() } else { partial.close() }
            return .success(results)
        }
        let outcomes = partial.place(at: paths, length: length)
        let isPlaced = outcomes.allSatisfy { $0.code == nil }
        let kept = isPlaced ? 0 : keep(partial, length: length, of: representation)
        for (path, outcome) in zip(paths, outcomes) {
            let file = DownloadedFile(path, length: length, fetched: fetched, representation)
            let result = outcome.map { file }.mapError { $0.keeping(kept) }
            for number in takers[path] ?? [] { results[number] = result }
        }
        return .success(results)
    }

    /// Keeps a whole file that could not be put in its place, for a request that comes when it can.
    private func keep(_ partial: any Partial, length: Int64, of representation: Representation) -> Int64 {
        partial.adopt(representation)
        do throws(DownloadError) {
            try partial.save(IntervalSet(0..<length))
        } catch {
            environment.log.notice("no checkpoint: \(error)")
        }
        return partial.close().count
    }

    /// Whoever waits; or, where the policy is to finish for nobody, the one for whom the transfer began.
    private func placementCallers(_ subscribers: Subscribers) -> [(Int, DownloadRequest)] {
        let attached = subscribers.attached.map { ($0.number, $0.subscriber.request) }
        guard attached.isEmpty, let first = subscribers.all.min(by: { $0.key < $1.key }) else { return attached }
        return [(first.key, first.value.request)]
    }

    /// Checks the file by what the caller expects or, where he expects nothing, by what the server said of it.
    private func check(
        _ expected: Checksum?, _ partial: any Partial, length: Int64, _ representation: Representation,
        _ digests: inout TransferDigests
    ) throws(DownloadError) {
        guard let wanted = expected ?? withState({ $0.serverDigest(of: representation) }) else { return }
        let hex = try digests.finish(wanted.algorithm, length: length, in: partial)
        guard hex != wanted.hex else { return }
        let source = expected == nil ? "the server's Repr-Digest is" : "expected"
        throw DownloadError(.checksumMismatch, "\(wanted.algorithm.rawValue) is \(hex), \(source) \(wanted.hex)")
    }

    /// Checks bytes that came under several validators by the digest for whose sake they were kept, whoever is still there.
    private func prove(
        _ partial: any Partial, length: Int64, _ representation: Representation, _ digests: inout TransferDigests
    ) throws(DownloadError) {
        guard representation.unprovenFrom != nil, let checksum = withState({ $0.machine.settings.checksum }) else {
            return
        }
        try check(checksum, partial, length: length, representation, &digests)
    }

    /// Where the file goes; nil where none is wanted.
    private func path(for destination: DownloadRequest.Destination, _ representation: Representation) -> String? {
        switch destination {
        case .memory:
            return nil
        case .file(let url):
            return url.path
        case .directory(let url):
            let fromURL = URL(string: key.url).flatMap { FileName.fromURLPath($0.path(percentEncoded: true)) }
            let name = representation.suggestedName ?? fromURL ?? "download"
            return environment.destinations.choose(name, in: url.path, for: key)
        }
    }
}

extension DownloadedFile {
    fileprivate init(
        _ path: String?, length: Int64, fetched: Int64, _ representation: Representation, data: Data? = nil
    ) {
        // The final URL was one when the request for it was sent.
        let finalURL = URL(string: representation.finalURL) ?? URL(fileURLWithPath: path ?? "/")
        self.init(
            url: path.map { URL(fileURLWithPath: $0) } ?? finalURL, byteCount: length, fetchedByteCount: fetched,
            finalURL: finalURL, contentType: representation.contentType, lastModified: representation.lastModified,
            suggestedName: representation.suggestedName, data: data)
        if case .entityTag(let tag)? = representation.validator { entityTag = tag.rawValue }
    }
}

extension DownloadError {
    fileprivate func keeping(_ count: Int64) -> Self {
        var error = self
        error.bytesKept = count
        return error
    }
}

extension Result where Failure == DownloadError {
    fileprivate var code: DownloadError.Code? {
        guard case .failure(let error) = self else { return nil }
        return error.code
    }
}
