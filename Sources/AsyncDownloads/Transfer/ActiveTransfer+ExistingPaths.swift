internal import Foundation

/// The paths at which a request's file may already exist.
extension ActiveTransfer {
    /// A path at which a request's file may already exist.
    struct Candidate {
        let path: String
        /// Whether the request specifies the path.
        let isNamed: Bool
        /// Whether the name has no number.
        let isFirst: Bool
    }

    /// Returns the path of a request's file if no other file uses it; nil if the request needs no file.
    ///
    /// - Parameter suggestedName: The name that the server has suggested, if it has responded.
    func expectedPath(of request: DownloadRequest, _ suggestedName: String?) -> String? {
        switch request.destination {
        case .memory: return nil
        case .file(let url): return url.filePath
        case .directory(let url):
            let name = suggestedName ?? request.defaultFileName
            let directory = url.filePath
            return PartialNames.join(directory, environment.store.disk.acceptedName(name, in: directory))
        }
    }

    /// Whether a subscriber's checksum or policy permits the use of an existing file without a request.
    var mayServeWithoutRequest: Bool {
        withState { state in
            state.machine.intent == .run
                && state.subscribers.active.contains { _, subscriber in
                    switch environment.existingFilePolicy(of: subscriber.request).kind {
                    case .keep: true
                    case .reuse: subscriber.request.checksum != nil
                    case .replace, .fail: false
                    }
                }
        }
    }

    /// Whether the server may be asked about existing files: each subscriber's policy permits it, and a file exists at
    /// the first possible path of each subscriber.
    var mayAskAboutFiles: Bool {
        withState(\.activeRequests).allSatisfy { _, request in
            request.checksum == nil && environment.existingFilePolicy(of: request) == .reuse
                && expectedPath(of: request, nil).map(exists) ?? false
        }
    }

    func exists(_ path: String) -> Bool {
        (try? environment.store.disk.information(at: path)) != nil
    }

    /// Returns the first file that `body` returns for the possible paths of a request's file: the specified path, or
    /// the default name and its numbered variants up to the first that doesn't exist.
    ///
    /// If the caller's default name was given to another resource, the file may have a variant of the URL's name.
    ///
    /// - Parameter suggestedName: The name that the server has suggested, which replaces the default name.
    func firstFile(
        of request: DownloadRequest, suggestedName: String? = nil, _ body: (Candidate) -> ExistingFile?
    ) -> ExistingFile? {
        guard let first = expectedPath(of: request, suggestedName) else { return nil }
        if !request.destination.choosesName { return body(Candidate(path: first, isNamed: true, isFirst: true)) }
        if suggestedName != nil { return firstVariant(of: first, hasName: true, body) }
        // Requests without a specific name share the same default name.
        let hasName =
            request.givenFileName != nil || FileName.fromURLPath(request.url.path(percentEncoded: true)) != nil
        if let file = firstVariant(of: first, hasName: hasName, body) { return file }
        guard request.givenFileName != nil, exists(first) else { return nil }
        var unnamed = request
        unnamed.givenFileName = nil
        guard let other = expectedPath(of: unnamed, nil) else { return nil }
        return firstVariant(of: other, hasName: false, body)
    }

    private func firstVariant(
        of first: String, hasName: Bool, _ body: (Candidate) -> ExistingFile?
    ) -> ExistingFile? {
        let (directory, name) = (PartialNames.directory(of: first), PartialNames.lastComponent(of: first))
        for number in 1...Self.maximumNumber {
            let path = PartialNames.join(directory, FileName.numbered(name, number))
            // If false, another transfer of this process has placed a file there, or is about to.
            let isOwn =
                environment.names.others(than: key.sharingKey.resource, at: path).isEmpty
                && environment.destinations.isFree(path, for: keyDigest)
            if isOwn, let file = body(Candidate(path: path, isNamed: false, isFirst: number == 1 && hasName)) {
                return file
            }
            guard exists(path) else { return nil }
        }
        return nil
    }

    /// The maximum number of numbered names that are examined.
    private static let maximumNumber = 1000

    /// Returns the file that was placed for this resource, if it has not been changed since.
    private func recordedFile(at candidate: Candidate) -> ExistingFile? {
        guard let file = environment.store.recordedFile(at: candidate.path), file.isUnchanged,
            let record = file.record.flatMap(ownRecord)
        else { return nil }
        return ExistingFile(path: candidate.path, length: file.information.size, record: record)
    }

    /// Returns the error of a request whose policy forbids an existing file, if its file exists.
    func existingFileRefusal(_ request: DownloadRequest, _ suggestedName: String?) -> DownloadError? {
        guard environment.existingFilePolicy(of: request) == .fail,
            let path = expectedPath(of: request, suggestedName), exists(path)
        else { return nil }
        return DownloadError(.destinationExists, PartialNames.lastComponent(of: path))
    }

    /// Records the files at the default names before bytes are received.
    ///
    /// A file that appears there later was probably placed by another process, even if it has no record (rule 46).
    func recordFormerFiles() {
        let disk = environment.store.disk
        for (id, request) in withState(\.activeRequests)
        where request.destination.choosesName && withState({ $0.delivery.examinedFiles.formerFile(of: id) == nil }) {
            guard let path = expectedPath(of: request, nil) else { continue }
            let file = try? disk.information(at: path)
            let own = file.flatMap { _ in firstFile(of: request, recordedFile) }
            let former = FormerFile(information: file, ownName: own.map { PartialNames.lastComponent(of: $0.path) })
            updateQuietly { $0.delivery.examinedFiles.record(former, of: id) }
        }
    }
}

/// An existing file that a subscriber receives without a download.
struct ExistingFile {
    let path: String
    let length: Int64
    /// The record of the file, if it belongs to the same resource.
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

extension ActiveTransfer.State {
    /// The subscribers without an outcome, and their requests.
    var activeRequests: [(id: SubscriberID, request: DownloadRequest)] {
        subscribers.active.map { ($0.id, $0.subscriber.request) }
    }
}
