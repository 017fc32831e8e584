internal import Foundation

/// What the store does for a transfer, in order, on the transfer's own queue.
extension Transfer {
    func onPartial(_ body: @escaping @Sendable (any Partial) -> Void) {
        queue.async { [self] in
            if let partial = withState({ $0.partial }) { body(partial) }
        }
    }

    func openPartial() {
        queue.async { [self] in
            let result = Result { () throws(DownloadError) in try environment.store.open(site) }
            update { state, decision in
                state.partial = try? result.get()
                decision.actions += state.machine.opened(result.map(\.finding), at: now)
            }
        }
    }

    func beginPartial(_ representation: Representation, exchange number: Int) {
        onPartial { [self] partial in
            let result = Result { () throws(DownloadError) in try partial.begin(representation) }
            input { $0.began(result, exchange: number, at: now) }
        }
    }

    func savePartial(_ received: IntervalSet) {
        onPartial { [self] partial in
            do throws(DownloadError) {
                try partial.save(received)
            } catch {
                environment.log.notice("no checkpoint: \(error)")
            }
            input { $0.saved() }
        }
    }

    func closePartial(saving received: IntervalSet?) {
        onPartial { [self] partial in
            var result = Result<Void, DownloadError>.success(())
            if let received, !received.isEmpty {
                result = Result { () throws(DownloadError) in try partial.save(received) }
            }
            partial.close()
            closed(result)
        }
    }

    func discardPartial() {
        onPartial { [self] partial in
            partial.discard()
            closed(.success(()))
        }
    }

    private func closed(_ result: Result<Void, DownloadError>) {
        update { state, decision in
            state.partial = nil
            decision.actions += state.machine.closed(result, at: now)
        }
    }

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
        let (callers, fetched) = withState { state in
            (placementCallers(state.subscribers), state.machine.progress.fetchedByteCount)
        }
        var results: [Int: Subscribers.Outcome] = [:]
        var paths: [String] = []
        var takers: [String: [Int]] = [:]
        var digests: [Checksum.Algorithm: Result<String, DownloadError>] = [:]
        for (number, request) in callers {
            if let checksum = request.checksum {
                let digest =
                    digests[checksum.algorithm]
                    ?? Result { () throws(DownloadError) in
                        try FileDigest.hex(checksum.algorithm, of: partial, length: length)
                    }
                digests[checksum.algorithm] = digest
                if let failure = mismatch(digest, checksum) {
                    results[number] = .failure(failure)
                    continue
                }
            }
            let path = path(for: request.destination, representation)
            if takers[path] == nil { paths.append(path) }
            takers[path, default: []].append(number)
        }
        guard !paths.isEmpty else {
            // Bytes that nobody can use are kept only if they might be right: when reading them failed.
            let isWrong = results.values.contains { (try? $0.get()) == nil && $0.code == .checksumMismatch }
            if isWrong { partial.discard() } else { partial.close() }
            return .success(results)
        }
        for (path, outcome) in zip(paths, partial.place(at: paths, length: length)) {
            let file = DownloadedFile(path, length: length, fetched: fetched, representation)
            for number in takers[path] ?? [] { results[number] = outcome.map { file } }
        }
        return .success(results)
    }

    /// Whoever waits; or, where the policy is to finish for nobody, the one for whom the transfer began.
    private func placementCallers(_ subscribers: Subscribers) -> [(Int, DownloadRequest)] {
        let attached = subscribers.attached.map { ($0.number, $0.subscriber.request) }
        guard attached.isEmpty, let first = subscribers.all.min(by: { $0.key < $1.key }) else { return attached }
        return [(first.key, first.value.request)]
    }

    private func mismatch(_ digest: Result<String, DownloadError>, _ expected: Checksum) -> DownloadError? {
        switch digest {
        case .failure(let error): error
        case .success(expected.hex): nil
        case .success(let hex):
            DownloadError(.checksumMismatch, "\(expected.algorithm.rawValue) is \(hex), expected \(expected.hex)")
        }
    }

    private func path(for destination: DownloadRequest.Destination, _ representation: Representation) -> String {
        switch destination {
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
    fileprivate init(_ path: String, length: Int64, fetched: Int64, _ representation: Representation) {
        let url = URL(fileURLWithPath: path)
        self.init(
            url: url, byteCount: length, fetchedByteCount: fetched,
            finalURL: URL(string: representation.finalURL) ?? url, contentType: representation.contentType,
            lastModified: representation.lastModified, suggestedName: representation.suggestedName)
        if case .entityTag(let tag)? = representation.validator { entityTag = tag.rawValue }
    }
}

extension Result where Failure == DownloadError {
    fileprivate var code: DownloadError.Code? {
        guard case .failure(let error) = self else { return nil }
        return error.code
    }
}
