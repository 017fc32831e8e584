internal import Foundation

/// The use of files that already exist at the destinations (rules 61 to 63).
extension ActiveTransfer {
    /// Serves the subscribers whose files can be used without a request, because of a checksum or of their policy.
    ///
    /// - Parameters:
    ///   - credentials: The secret headers of the partial file.
    ///   - permit: The refused permit for which the transfer is waiting; nil if the partial file is being opened.
    /// - Returns: Whether the transfer has ended, because every subscriber has its file.
    func reuseWithoutRequest(_ credentials: HeaderFields, refused permit: PermitRequestID? = nil) -> Bool {
        let files = filesWithoutRequest()
        // Leftovers are removed before the end of the transfer, so that a following request finds the location free.
        if isEveryFileProven(files) { removeLeftovers(credentials) }
        return serve(files, refused: permit)
    }

    /// Returns whether each subscriber has a file that its checksum has verified.
    private func isEveryFileProven(_ files: [SubscriberID: DownloadedFile]) -> Bool {
        !files.isEmpty
            && withState(\.activeRequests).allSatisfy { id, request in
                files[id] != nil && request.checksum != nil && environment.existingFilePolicy(of: request) == .reuse
            }
    }

    /// Removes hidden files without bytes, left by an earlier process that was killed after it renamed the file.
    private func removeLeftovers(_ credentials: HeaderFields) {
        let store = environment.store
        var location = withState(\.storage.location.onDisk)
        location.secretHeaders = credentials
        // The lock file is always removed last. Any remaining bytes may belong to another object or destination.
        guard exists(store.names(of: location).lock), store.unfinished(at: location) == nil else { return }
        try? store.openFile(location).discard()
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
        case .keep: firstFile(of: request, keptFile)
        case .reuse:
            request.checksum.flatMap { checksum in
                firstFile(of: request) { verifiedFile(at: $0, request, id, by: checksum) }
            }
        case .replace, .fail: nil
        }
    }

    /// Returns the file at a path, regardless of its contents; nil if none exists.
    private func keptFile(at candidate: Candidate) -> ExistingFile? {
        let (store, path) = (environment.store, candidate.path)
        let recorded = store.recordedFile(at: path)
        if !candidate.isNamed, isOfAnotherResource(recorded) { return nil }
        // A file that can't be opened, or that a link refers to, is used as well.
        guard let information = recorded?.information ?? targetInformation(at: path), information.kind == .regular
        else {
            return nil
        }
        let record = recorded.flatMap { store.finishedFile($0, at: path) }.flatMap(ownRecord)
        // An empty file may be the reservation of a name by a process that was killed.
        guard candidate.isNamed || record != nil || candidate.isFirst && information.size > 0 else { return nil }
        return ExistingFile(path: path, length: information.size, record: record)
    }

    /// Returns the information about the file at `path`, following a symbolic link.
    private func targetInformation(at path: String) -> FileInformation? {
        let disk = environment.store.disk
        let information = try? disk.information(at: path)
        guard information?.kind == .symbolicLink else { return information }
        return try? disk.information(at: URL(fileURLWithPath: path).resolvingSymlinksInPath().filePath)
    }

    /// Returns whether the file was placed for another resource, even if it was changed later.
    private func isOfAnotherResource(_ file: RecordedFile?) -> Bool {
        file?.record.map { $0.resource != recordedResource } ?? false
    }

    /// Returns the record if it belongs to this resource.
    func ownRecord(_ record: FinishedFileRecord) -> FinishedFileRecord? {
        record.resource == recordedResource ? record : nil
    }

    /// Returns the file at a path if it has the expected digest.
    private func verifiedFile(
        at candidate: Candidate, _ request: DownloadRequest, _ id: SubscriberID, by checksum: Checksum
    ) -> ExistingFile? {
        let (store, disk, path) = (environment.store, environment.store.disk, candidate.path)
        guard let handle = try? disk.open(path, .reading) else { return nil }
        defer { disk.close(handle) }
        // Another resource may have the same bytes now, and different ones later.
        guard let file = store.recordedFile(handle), candidate.isNamed || !isOfAnotherResource(file),
            store.isPrivate(file.information, at: path),
            request.lengthError(file.information.size) == nil,
            // A file is hashed only once, although the partial file may be opened many times.
            !withState({ $0.delivery.examinedFiles.isRejected(file.information, for: id) })
        else { return nil }
        let digest = try? disk.digest(checksum.algorithm, of: handle, length: file.information.size) {
            withState { $0.machine.intent == .run }
        }
        guard let digest else { return nil }
        if digest == checksum.hex, (try? disk.information(of: handle))?.isUnchanged(since: file.information) == true {
            let record = store.finishedFile(file, at: path).flatMap(ownRecord)
            return ExistingFile(path: path, length: file.information.size, record: record)
        }
        updateQuietly { $0.delivery.examinedFiles.reject(file.information, for: id) }
        return nil
    }

    /// Returns the representation of all subscribers' files, or nil if a file is missing or they differ.
    ///
    /// - Parameter suggestedName: The name that the server has suggested, if it has responded.
    func existingRepresentation(suggestedName: String? = nil) -> ExistingRepresentation? {
        let requests = withState(\.activeRequests)
        guard let first = requests.first?.request else { return nil }
        var common: FinishedFileRecord?
        for (_, request) in requests {
            guard request.checksum == nil, let record = reusableFile(request, suggestedName)?.record,
                let validator = record.validator,
                common.map({ $0.validator == validator && $0.length == record.length }) ?? true
            else { return nil }
            common = record
        }
        guard let common, let validator = common.validator else { return nil }
        let representation = Representation(
            finalURL: first.url.absoluteString, validator: validator, length: common.length,
            contentType: common.contentType, suggestedName: suggestedName)
        return ExistingRepresentation(
            validator: validator, representation: representation, requiresValidator: first.identity != nil)
    }

    /// Ends the exchange before its body if the response describes the files that the subscribers have under the name
    /// that the server has suggested (rule 62).
    ///
    /// - Returns: Whether the body isn't needed.
    func reuseNamedFiles(_ representation: Representation, exchange id: ExchangeID) -> Bool {
        guard let name = representation.suggestedName, let validator = representation.validator,
            withState(\.machine.mayFindFiles), let existing = existingRepresentation(suggestedName: name),
            existing.validator == validator,
            representation.length ?? existing.representation.length
                == existing.representation.length
        else { return false }
        return update { state, decision in
            guard let actions = state.machine.foundFiles(existing, exchange: id, at: now) else { return false }
            decision.actions += actions
            return true
        }
    }

    /// Returns the file of a request, if the server can be asked about it or has described it.
    private func reusableFile(_ request: DownloadRequest, _ suggestedName: String?) -> ExistingFile? {
        guard environment.existingFilePolicy(of: request) == .reuse else { return nil }
        return firstFile(of: request, suggestedName: suggestedName) { candidate in
            guard let record = environment.store.finishedFile(at: candidate.path).flatMap(ownRecord),
                request.lengthError(record.length) == nil
            else { return nil }
            return ExistingFile(path: candidate.path, length: record.length, record: record)
        }
    }

    /// Returns the files that the server has confirmed and that have not been changed in the meantime, by subscriber.
    func confirmedFiles() -> [SubscriberID: DownloadedFile] {
        guard let confirmed = withState(\.machine.confirmedFiles) else { return [:] }
        var results: [SubscriberID: DownloadedFile] = [:]
        for (id, request) in withState(\.activeRequests) where request.checksum == nil {
            guard let file = reusableFile(request, confirmed.suggestedName),
                file.record?.validator == confirmed.validator
            else { continue }
            results[id] = file.downloadedFile(for: request)
        }
        return results
    }

    /// Serves subscribers with files that already exist.
    ///
    /// If all subscribers are served, the transfer ends before they receive their results, so that a following request
    /// finds the key and the destinations free. No partial file is open then.
    ///
    /// - Parameter permit: The refused permit for which the transfer is waiting, if it is.
    /// - Returns: Whether the transfer has ended.
    func serve(_ results: [SubscriberID: DownloadedFile], refused permit: PermitRequestID? = nil) -> Bool {
        let results = results.filter { reserveName(of: $0.value, for: $0.key) }
        guard !results.isEmpty else { return false }
        return update { state, decision in
            guard state.machine.mayReuse(refused: permit) else { return false }
            let ids = state.subscribers.activeIDs
            if !ids.isEmpty, ids.allSatisfy({ results[$0] != nil }) {
                state.storage.closed()
                decision.actions += state.machine.reused(results.mapValues { .success($0) })
                return true
            }
            for (id, file) in results {
                detach(id, .success(file), policy: .pause, &state, &decision, at: now)
            }
            return false
        }
    }

    /// Records that the file belongs to this resource, so that no other download of this process replaces it.
    ///
    /// - Returns: Whether the request specifies the path, or no other resource has been given it in the meantime.
    private func reserveName(of file: DownloadedFile, for id: SubscriberID) -> Bool {
        let (path, resource) = (file.url.filePath, key.sharingKey.resource)
        let isNamed = withState { $0.subscribers[id]?.request.destination.path != nil }
        let spelling = DirectoryNames.Spelling(of: path)
        return environment.names.withTurn(spelling) {
            guard isNamed || environment.names.others(than: resource, at: spelling).isEmpty else { return false }
            environment.names.give(path, spelling, to: resource, try? environment.store.disk.information(at: path))
            return true
        }
    }

    /// The digest that identifies the resource in the records of its files.
    private var recordedResource: ResourceDigest? {
        let (record, hasSecrets) = withState { ($0.storage.location.request, !$0.machine.credentials.isEmpty) }
        return hasSecrets && record.account == nil ? nil : ResourceDigest(record)
    }
}
