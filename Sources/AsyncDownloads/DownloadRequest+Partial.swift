internal import Foundation

extension PartialSite {
    /// Where the bytes of `request` are kept until they are all there.
    ///
    /// - Parameters:
    ///   - partialsDirectory: Where all of them are kept, unless each is kept beside its destination.
    ///   - spillDirectory: Where a body goes that is wanted in memory and has to leave it.
    init(_ request: DownloadRequest, key: TransferKey, partialsDirectory: URL?, spillDirectory: URL) {
        let home: URL
        let name: String?
        switch request.destination {
        case .memory:
            home = spillDirectory
            name = PartialSite.spilledName
        case .file(let file):
            home = file.deletingLastPathComponent()
            name = file.lastPathComponent
        case .directory(let directory):
            home = directory
            let fromURL = FileName.fromURLPath(request.url.path(percentEncoded: true))
            name = request.identity.flatMap(FileName.sanitised) ?? fromURL
        }
        let isInMemory = request.destination == .memory
        let directory = (isInMemory ? home : partialsDirectory ?? home).path
        let record = RequestRecord(
            url: key.url,
            headers: key.headers.withoutCredentials().map { [$0.name, $0.value] },
            hadCredentials: key.headers.contains { HeaderFields.isCredential($0.name) },
            destination: request.destination.record(relativeTo: directory),
            choosesName: request.destination.choosesName,
            checksum: request.checksum?.text,
            identity: key.identity)
        self.init(
            directory: directory, baseName: name ?? "download", request: record,
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
        return String(decoding: path.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    }
}

extension DownloadRequest {
    /// The request that left `unfinished`, without its credentials; nil where its URL is none.
    init?(_ unfinished: UnfinishedPartial) {
        let record = unfinished.site.request
        guard let url = URL(string: record.url) else { return nil }
        let base = URL(fileURLWithPath: unfinished.site.directory, isDirectory: true)
        let place = URL(
            fileURLWithPath: record.destination, isDirectory: record.choosesName, relativeTo: base
        ).absoluteURL
        var headers = HeaderFields()
        for pair in record.headers where pair.count == 2 { headers.append(pair[1], for: pair[0]) }
        let destination: Destination =
            if record.destination.isEmpty {
                .memory
            } else {
                record.choosesName ? .directory(place.standardizedFileURL) : .file(place)
            }
        self.init(
            from: url, at: destination, headers: headers,
            checksum: record.checksum.flatMap { Checksum($0) }, priority: .normal)
        identity = record.identity
    }
}
