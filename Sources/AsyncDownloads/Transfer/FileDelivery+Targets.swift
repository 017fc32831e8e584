internal import Foundation

/// The targets of the recipients, and the files that they receive.
extension FileDelivery {
    /// Returns the placement target of a recipient, or nil if it needs no file.
    func target(for recipient: Recipient) -> PlacementTarget? {
        let request = recipient.request
        let place: PlacementTarget.Place
        let destination: URL
        switch request.destination {
        case .memory:
            return nil
        case .file(let url):
            destination = url
            place = .path(url.filePath, below: request.confiningDirectory(of: url))
        case .directory(let url):
            destination = url
            // An earlier file of this resource with another name is replaced under that name.
            let name = representation.suggestedName ?? recipient.formerFile?.ownName ?? request.defaultFileName
            place = .directory(
                url.filePath, name: environment.store.disk.acceptedName(name, in: url.filePath),
                isCallers: representation.suggestedName == nil, below: request.confiningDirectory(of: url))
        }
        let (destinations, digest) = (environment.destinations, digest)
        var target = PlacementTarget(place, resource: key.sharingKey.resource, names: environment.names) { path in
            destinations.isFree(path, for: digest)
        }
        target.url = destination
        target.request = location.request
        let policy = environment.existingFilePolicy(of: request)
        target.replacesFiles = policy != .fail && !(policy == .keep && request.destination.path != nil)
        let former = policy == .keep ? nil : recipient.formerFile
        target.mayReplaceUnrecorded = { present in former?.isUnchanged(present) ?? false }
        return target
    }

    func file(_ path: String?, of request: DownloadRequest, data: Data? = nil) -> DownloadedFile {
        // Most final URLs are the requested ones, and parsing a URL takes longer than comparing it.
        let isFinal = request.url.absoluteString.hasSameBytes(as: representation.finalURL)
        // The final URL was valid when the request for it was sent.
        let finalURL = isFinal ? request.url.absoluteURL : URL(string: representation.finalURL) ?? request.url
        let url = path.map { path in
            if case .file(let url) = request.destination, url.isPlainFile(at: path) { return url.absoluteURL }
            return URL(fileURLWithPath: path, isDirectory: false)
        }
        var file = DownloadedFile(
            url: url ?? finalURL, byteCount: length, fetchedByteCount: fetched,
            finalURL: finalURL, contentType: representation.contentType, lastModified: representation.lastModified,
            suggestedName: representation.suggestedName, data: data, responses: responses)
        if case .entityTag(let tag)? = representation.validator { file.entityTag = tag.rawValue }
        return file
    }

    /// Returns the existing file that a request keeps instead of the received one, if it joined after the transfer
    /// started.
    func keptFile(of request: DownloadRequest, after error: DownloadError) -> DownloadedFile? {
        guard error.code == .destinationExists, environment.existingFilePolicy(of: request) == .keep,
            case .file(let url) = request.destination,
            let present = try? environment.store.disk.information(at: url.filePath), present.kind == .regular
        else { return nil }
        return ExistingFile(path: url.filePath, length: present.size, record: nil).downloadedFile(for: request)
    }
}

/// The state of a request's default name when its download began.
struct FormerFile: Sendable {
    /// The information about the file with that name, or nil if no file existed.
    let information: FileInformation?
    /// The name of the file that was placed for this resource, if it existed.
    let ownName: String?

    /// Returns whether the file and its bytes are still the same.
    func isUnchanged(_ present: FileInformation) -> Bool {
        information.map { present.isUnchanged(since: $0) } ?? false
    }
}

/// The examined files that existed at the subscribers' destinations before the transfer's file.
struct ExaminedFiles: Sendable {
    private var rejected: [SubscriberID: [FileInformation]] = [:]
    private var former: [SubscriberID: FormerFile] = [:]

    /// Returns whether the file was found to have another digest than the subscriber expects.
    func isRejected(_ file: FileInformation, for id: SubscriberID) -> Bool {
        rejected[id, default: []].contains { $0.isUnchanged(since: file) }
    }

    /// Records that the file doesn't have the digest that the subscriber expects.
    mutating func reject(_ file: FileInformation, for id: SubscriberID) {
        rejected[id, default: []].append(file)
    }

    /// Returns the file that had the subscriber's default name when its download began; nil if unknown.
    func formerFile(of id: SubscriberID) -> FormerFile? { former[id] }

    /// Records the file that has the subscriber's default name.
    mutating func record(_ file: FormerFile, of id: SubscriberID) {
        former[id] = file
    }
}
