internal import Foundation

extension PartialLocation {
    /// Where the bytes of `request` are kept until they are all there.
    ///
    /// - Parameters:
    ///   - partialsDirectory: Where all of them are kept, unless each is kept beside its destination.
    ///   - spillDirectory: Where a body goes that is wanted in memory and has to leave it.
    ///   - place: The site at which they were found, where they were.
    init(
        _ request: DownloadRequest, key: TransferKey, partialsDirectory: URL?, spillDirectory: URL,
        place: PartialLocation? = nil
    ) {
        let home: URL
        let name: String?
        switch request.destination {
        case .memory:
            home = spillDirectory
            name = PartialLocation.spilledName
        case .file(let file):
            home = file.deletingLastPathComponent()
            name = file.lastPathComponent
        case .directory(let directory):
            home = directory
            let fromURL = FileName.fromURLPath(request.url.path(percentEncoded: true))
            name = request.identity.flatMap(FileName.sanitised) ?? fromURL
        }
        let isInMemory = request.destination == .memory
        let directory = place?.directory ?? (isInMemory ? home : partialsDirectory ?? home).path
        let record = RequestRecord(
            url: key.url,
            headers: key.headers.map { [$0.name, $0.value] },
            hasSecretHeaders: !key.secretHeaders.isEmpty,
            destination: request.destination.record(relativeTo: directory),
            choosesName: request.destination.choosesName,
            checksum: request.checksum?.text,
            identity: key.identity,
            account: key.account)
        self.init(
            directory: directory, baseName: place?.baseName ?? name ?? "download", request: record,
            secretHeaders: key.secretHeaders,
            medium: isInMemory ? .memory : .disk)
    }
}

extension DownloadRequest.Destination {
    var choosesName: Bool {
        switch self {
        case .file, .memory: false
        case .directory: true
        }
    }

    // Containers move between launches of an app, so what lies below the partial's directory is named from there.
    fileprivate func record(relativeTo directory: String) -> String {
        let path: String
        switch self {
        case .file(let url), .directory(let url): path = url.path
        case .memory: return ""
        }
        if path == directory { return "." }
        let prefix = directory.hasSuffix("/") ? directory : directory + "/"
        // By bytes, as the system does: a slash and a combining mark behind it are one `Character`.
        guard path.utf8.starts(with: prefix.utf8) else { return path }
        let relative = String(decoding: path.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
        // No path begins with a tilde that somebody might take for a home directory.
        return relative.utf8.first == UInt8(ascii: "~") ? "./" + relative : relative
    }
}

extension RequestRecord {
    /// The components of a destination below the checkpoint's directory; nil where it may lead elsewhere.
    var componentsBelow: [String]? {
        guard destination.utf8.first != UInt8(ascii: "~"), !destination.utf8.contains(0) else { return nil }
        var components = destination.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        if components.first == "." { components.removeFirst() }
        // An empty first component is an absolute path.
        return components.allSatisfy({ !["", ".", ".."].contains($0) }) ? components : nil
    }

    /// Whether the destination is an absolute path that climbs nowhere.
    var isPlainAbsolute: Bool {
        guard destination.utf8.first == UInt8(ascii: "/"), !destination.utf8.contains(0) else { return false }
        return destination.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .allSatisfy { component in
                ![[], Array(".".utf8), Array("..".utf8)].contains(Array(component))
                    && component.first != UInt8(ascii: "~")
            }
    }
}

extension DownloadRequest {
    /// The request that left `unfinished`, without its secrets; nil where its URL or its destination is unusable.
    init?(_ unfinished: UnfinishedPartial) {
        let record = unfinished.location.request
        guard let url = URL(string: record.url) else { return nil }
        let base = URL(fileURLWithPath: unfinished.location.directory, isDirectory: true)
        let destination: Destination
        if record.destination.isEmpty {
            destination = .memory
        } else {
            let hint: URL.DirectoryHint = record.choosesName ? .isDirectory : .notDirectory
            let place: URL
            if let components = record.componentsBelow {
                // Appending never expands a tilde, which a path relative to a URL does.
                place =
                    components.isEmpty
                    ? base : base.appending(path: components.joined(separator: "/"), directoryHint: hint)
            } else if record.isPlainAbsolute {
                place = URL(fileURLWithPath: record.destination, isDirectory: record.choosesName)
            } else {
                return nil
            }
            destination = record.choosesName ? .directory(place) : .file(place)
        }
        var headers = HeaderFields()
        for pair in record.headers where pair.count == 2 { headers.append(pair[1], for: pair[0]) }
        self.init(
            from: url, at: destination, headers: headers,
            checksum: record.checksum.flatMap { Checksum($0) }, priority: .normal)
        nonsecretHeaders = headers.declaredNames
        identity = record.identity
        account = record.account
        if record.componentsBelow != nil { origin.directory = base.path }
    }

    /// The directory that the file must stay below, over whatever symbolic links, where `file` was restored from it.
    func confiningDirectory(of file: URL) -> String? {
        guard let directory = origin.directory else { return nil }
        let prefix = directory.hasSuffix("/") ? directory : directory + "/"
        return file.path == directory || file.path.utf8.starts(with: prefix.utf8) ? directory : nil
    }
}
