internal import Foundation

extension PartialLocation {
    /// Creates the location of the partial file of a request.
    ///
    /// - Parameters:
    ///   - partialsDirectory: The directory of all partial files, or nil if each one is next to its destination.
    ///   - spillDirectory: The directory of bodies that were requested in memory and have to be moved to disk.
    ///   - place: The location at which existing bytes were found, if any.
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
            name = request.identity.flatMap(FileName.sanitized) ?? fromURL
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
    /// The path that is reserved for the file, if the request names one.
    var path: String? {
        if case .file(let url) = self { return url.plainFilePath ?? url.path }
        return nil
    }

    var choosesName: Bool {
        switch self {
        case .file, .memory: false
        case .directory: true
        }
    }

    // The container of an app moves between launches, so a path below the partial file's directory is recorded relative
    // to it.
    fileprivate func record(relativeTo directory: String) -> String {
        let path: String
        switch self {
        case .file(let url), .directory(let url): path = url.path
        case .memory: return ""
        }
        if path == directory { return "." }
        let prefix = directory.hasSuffix("/") ? directory : directory + "/"
        // Bytes are compared, as the system does: a slash and a combining mark that follows it are one `Character`.
        guard path.utf8.starts(with: prefix.utf8) else { return path }
        let relative = String(decoding: path.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
        // A path that begins with a tilde could be mistaken for one in a home directory.
        return relative.utf8.first == UInt8(ascii: "~") ? "./" + relative : relative
    }
}

extension RequestRecord {
    /// The components of a destination below the checkpoint's directory, or nil if it may be elsewhere.
    var componentsBelow: [String]? {
        guard destination.utf8.first != UInt8(ascii: "~"), !destination.utf8.contains(0) else { return nil }
        var components = destination.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        if components.first == "." { components.removeFirst() }
        // An empty first component indicates an absolute path.
        return components.allSatisfy({ !["", ".", ".."].contains($0) }) ? components : nil
    }

    /// Whether the destination is an absolute path without components that are empty, `.`, `..`, or begin with a tilde.
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
    /// Creates the request of an unfinished download, without its secrets.
    ///
    /// Returns nil if the URL or the destination is unusable.
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
                // Appending never expands a tilde, unlike the resolution of a path relative to a URL.
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

    /// Returns the directory that `file` must not leave through symbolic links, or nil if it was not restored from one.
    func confiningDirectory(of file: URL) -> String? {
        guard let directory = origin.directory else { return nil }
        let prefix = directory.hasSuffix("/") ? directory : directory + "/"
        return file.path == directory || file.path.utf8.starts(with: prefix.utf8) ? directory : nil
    }
}
