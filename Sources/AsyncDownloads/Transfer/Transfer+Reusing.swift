internal import Foundation

/// The use of files that are at the destinations already (rules 61 to 63).
extension Transfer {
    /// Serves the subscribers whose files can be used without a request: because of a checksum, or of their policy.
    ///
    /// - Parameter credentials: The secret headers of the partial file.
    /// - Returns: Whether the transfer has ended, because every subscriber has its file.
    func reuseWithoutRequest(_ credentials: HeaderFields) -> Bool {
        let files = filesWithoutRequest()
        // Before the end of the transfer, so that a request that follows finds the location free.
        if isEveryFileProven(files) { removePartialFile(credentials) }
        return serve(files)
    }

    /// Whether each subscriber has a file that its checksum has proven, so that no one needs the bytes of the partial
    /// file.
    private func isEveryFileProven(_ files: [SubscriberID: DownloadedFile]) -> Bool {
        !files.isEmpty
            && withState(\.activeRequests).allSatisfy { id, request in
                files[id] != nil && request.checksum != nil && environment.existingFilePolicy(of: request) == .reuse
            }
    }

    /// Removes the partial file that an earlier process has left, for example if it was killed after the rename.
    private func removePartialFile(_ credentials: HeaderFields) {
        var location = withState(\.location.onDisk)
        location.secretHeaders = credentials
        guard environment.store.holds(location) else { return }
        // If another process owns it, that one removes it.
        try? environment.store.openFile(location).discard()
    }

    private func filesWithoutRequest() -> [SubscriberID: DownloadedFile] {
        let requests = withState { state in state.machine.intent == .run ? state.activeRequests : [] }
        var results: [SubscriberID: DownloadedFile] = [:]
        for (id, request) in requests {
            results[id] = fileWithoutRequest(request, id)?.downloadedFile(for: request)
        }
        return results
    }

    /// Returns the files of all subscribers; nil if one of them needs a request.
    func allFilesWithoutRequest() -> [SubscriberID: DownloadedFile]? {
        let results = filesWithoutRequest()
        let isComplete = withState { $0.subscribers.activeIDs.allSatisfy { results[$0] != nil } }
        return isComplete && !results.isEmpty ? results : nil
    }

    private func fileWithoutRequest(_ request: DownloadRequest, _ id: SubscriberID) -> ExistingFile? {
        switch environment.existingFilePolicy(of: request).kind {
        case .keep: existingPaths(for: request).lazy.compactMap(keptFile).first
        case .reuse: request.checksum.flatMap { verifiedFile(request, id, by: $0) }
        case .replace, .fail: nil
        }
    }

    /// Returns the file at a path whatever it contains; nil if there is none.
    private func keptFile(at candidate: Candidate) -> ExistingFile? {
        let disk = environment.store.disk
        let recorded = environment.store.finishedFile(at: candidate.path)
        if !candidate.isNamed, isOfAnotherResource(candidate) { return nil }
        var information = (try? disk.information(at: candidate.path)) ?? nil
        if information?.kind == .symbolicLink {
            let target = URL(fileURLWithPath: candidate.path).resolvingSymlinksInPath().filePath
            information = (try? disk.information(at: target)) ?? nil
        }
        guard let information, information.kind == .regular else { return nil }
        let isOurs = recorded?.record.resource == resource
        // An empty file may be the reservation of a name by a process that was killed.
        guard candidate.isNamed || isOurs || candidate.isFirst && information.size > 0 else { return nil }
        return ExistingFile(
            path: candidate.path, length: information.size, record: isOurs ? recorded?.record : nil)
    }

    /// Whether the file was placed for another resource, even if it was changed later.
    private func isOfAnotherResource(_ candidate: Candidate) -> Bool {
        environment.store.recordedResource(at: candidate.path).map { $0 != resource } ?? false
    }

    /// Returns a file with the expected digest.
    private func verifiedFile(_ request: DownloadRequest, _ id: SubscriberID, by checksum: Checksum) -> ExistingFile? {
        let (store, disk) = (environment.store, environment.store.disk)
        for candidate in existingPaths(for: request) {
            // Two resources with the same bytes may differ later.
            guard candidate.isNamed || !isOfAnotherResource(candidate),
                let handle = try? disk.open(candidate.path, .reading)
            else { continue }
            defer { disk.close(handle) }
            let owner = FileOwner(disk: disk, directory: PartialNames.directory(of: candidate.path))
            guard let information = try? disk.information(of: handle), (try? owner.isPrivate(information)) == true,
                request.maximumByteCount.map({ information.size <= $0 }) ?? true,
                // A file is hashed once, although the partial file may be opened many times.
                !withState({ $0.rejectedFiles[id, default: []].contains { $0.isUnchanged(since: information) } })
            else { continue }
            let digest = try? disk.digest(checksum.algorithm, of: handle, length: information.size) {
                withState { $0.machine.intent == .run }
            }
            guard let digest else { continue }
            if digest == checksum.hex, (try? disk.information(of: handle))?.isUnchanged(since: information) == true {
                let record = store.finishedFile(at: candidate.path)?.record
                return ExistingFile(
                    path: candidate.path, length: information.size, record: record?.resource == resource ? record : nil)
            }
            updateQuietly { $0.rejectedFiles[id, default: []].append(information) }
        }
        return nil
    }

    /// Returns the representation that the files of all subscribers have, or nil if one of them has none or another one.
    func existingRepresentation() -> ExistingRepresentation? {
        let requests = withState(\.activeRequests)
        guard let first = requests.first?.request else { return nil }
        var common: FinishedFileRecord?
        for (_, request) in requests {
            guard request.checksum == nil, let record = reusableFile(request)?.record, let validator = record.validator,
                common.map({ $0.validator == validator && $0.length == record.length }) ?? true
            else { return nil }
            common = record
        }
        guard let common, let validator = common.validator else { return nil }
        let representation = Representation(
            finalURL: first.url.absoluteString, validator: validator, length: common.length,
            contentType: common.contentType)
        return ExistingRepresentation(
            validator: validator, representation: representation, requiresValidator: first.identity != nil)
    }

    /// Returns the file of a request about which the server can be asked.
    private func reusableFile(_ request: DownloadRequest) -> ExistingFile? {
        guard environment.existingFilePolicy(of: request) == .reuse else { return nil }
        for candidate in existingPaths(for: request) {
            guard let record = environment.store.finishedFile(at: candidate.path)?.record,
                record.resource == resource, request.maximumByteCount.map({ record.length <= $0 }) ?? true
            else { continue }
            return ExistingFile(path: candidate.path, length: record.length, record: record)
        }
        return nil
    }

    /// Returns the files that the server has confirmed and that nothing has changed in the meantime, by subscriber.
    func confirmedFiles() -> [SubscriberID: DownloadedFile] {
        let existing = withState { $0.machine.isReusing ? $0.machine.existing : nil }
        guard let existing else { return [:] }
        var results: [SubscriberID: DownloadedFile] = [:]
        for (id, request) in withState(\.activeRequests) where request.checksum == nil {
            guard let file = reusableFile(request), file.record?.validator == existing.validator else { continue }
            results[id] = file.downloadedFile(for: request)
        }
        return results
    }

    /// Serves subscribers with files that they have already.
    ///
    /// If all of them are served, the transfer ends before they get their results, so that a request that follows finds
    /// the key and the destinations free. No partial file is open then.
    ///
    /// - Returns: Whether the transfer has ended.
    func serve(_ results: [SubscriberID: DownloadedFile]) -> Bool {
        let results = results.filter { takeName(of: $0.value, for: $0.key) }
        guard !results.isEmpty else { return false }
        return update { state, decision in
            guard state.machine.mayReuse else { return false }
            let ids = state.subscribers.activeIDs
            if !ids.isEmpty, ids.allSatisfy({ results[$0] != nil }) {
                state.partial = nil
                decision.actions += state.machine.reused(results.mapValues { .success($0) })
                return true
            }
            for (id, file) in results {
                detach(id, .success(file), policy: .pause, &state, &decision, at: now)
            }
            return false
        }
    }

    /// Records that the file is that of this resource, so that no other download of this process replaces it.
    ///
    /// - Returns: Whether the request names the path, or no other resource has received it in the meantime.
    private func takeName(of file: DownloadedFile, for id: SubscriberID) -> Bool {
        let (path, resource) = (file.url.filePath, work.key.sharingKey.resource)
        let isNamed = withState { $0.subscribers[id]?.request.destination.path != nil }
        let spelling = DirectoryNames.Spelling(of: path)
        return environment.names.withTurn(spelling) {
            guard isNamed || environment.names.others(than: resource, at: spelling).isEmpty else { return false }
            environment.names.give(path, spelling, to: resource)
            return true
        }
    }

    /// The digest that the records of the resource's files have.
    private var resource: ResourceDigest? {
        let (record, hasSecrets) = withState { ($0.location.request, !$0.machine.credentials.isEmpty) }
        return hasSecrets && record.account == nil ? nil : ResourceDigest(record)
    }

    // MARK: - Paths

    /// A path at which the file of a request may be.
    private struct Candidate {
        let path: String
        /// Whether the request names the path.
        let isNamed: Bool
        /// Whether it is the name without a number.
        let isFirst: Bool
    }

    /// Returns the path that the file of a request gets if no other file has it; nil if there is to be no file.
    ///
    /// - Parameter suggestedName: The name that the server has suggested, if it has answered.
    func expectedPath(of request: DownloadRequest, _ suggestedName: String?) -> String? {
        switch request.destination {
        case .memory: return nil
        case .file(let url): return url.filePath
        case .directory(let url):
            let fromURL = URL(string: work.key.url).flatMap { FileName.fromURLPath($0.path(percentEncoded: true)) }
            return PartialNames.join(url.filePath, suggestedName ?? fromURL ?? "download")
        }
    }

    /// Returns the paths at which the file of a request may be: the named one, or the name from the URL and its numbered
    /// variants up to the first that doesn't exist.
    private func existingPaths(for request: DownloadRequest) -> [Candidate] {
        guard let first = expectedPath(of: request, nil) else { return [] }
        if !request.destination.choosesName { return [Candidate(path: first, isNamed: true, isFirst: true)] }
        let (directory, name) = (PartialNames.directory(of: first), PartialNames.lastComponent(of: first))
        let key = work.key
        var candidates: [Candidate] = []
        for number in 0..<Self.maximumNumber {
            let candidate = number == 0 ? name : FileName.numbered(name, number)
            let path = PartialNames.join(directory, candidate)
            guard ((try? environment.store.disk.information(at: path)) ?? nil) != nil else { break }
            // Another transfer of this process has placed a file there, or is about to.
            guard environment.names.others(than: key.sharingKey.resource, at: path).isEmpty,
                environment.destinations.isFree(path, for: self.key)
            else { continue }
            candidates.append(Candidate(path: path, isNamed: false, isFirst: number == 0))
        }
        return candidates
    }

    /// The number of numbered names that are examined.
    private static let maximumNumber = 1000
}

/// A file that a subscriber receives without a body.
private struct ExistingFile {
    let path: String
    let length: Int64
    /// The record, if the file has one of the same resource.
    let record: FinishedFileRecord?

    func downloadedFile(for request: DownloadRequest) -> DownloadedFile {
        var url = URL(fileURLWithPath: path, isDirectory: false)
        if case .file(let own) = request.destination, own.isPlainFile(at: path) { url = own.absoluteURL }
        var file = DownloadedFile(
            url: url, byteCount: length, fetchedByteCount: 0, finalURL: request.url, contentType: record?.contentType)
        switch record?.validator {
        case .entityTag(let tag)?: file.entityTag = tag.rawValue
        case .lastModified(let text)?: file.lastModified = text
        case nil: break
        }
        file.isReused = true
        return file
    }
}

extension Transfer.State {
    /// The subscribers without an outcome, and their requests.
    fileprivate var activeRequests: [(id: SubscriberID, request: DownloadRequest)] {
        subscribers.active.map { ($0.id, $0.subscriber.request) }
    }
}
