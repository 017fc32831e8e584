internal import Foundation

extension PartialLocation {
    /// Creates the location of the partial file of a request.
    ///
    /// - Parameters:
    ///   - partialsDirectory: The directory of all partial files, or nil if each is next to its destination.
    ///   - spillDirectory: The directory of bodies that were requested in memory and have to be moved to disk.
    ///   - containers: The containers of the app, which may move between launches; nil on systems without containers.
    ///   - place: The location at which existing bytes were found, if any.
    init(
        _ request: DownloadRequest, key: TransferKey, partialsDirectory: URL?, spillDirectory: URL,
        containers: AppContainers?, place: PartialLocation? = nil
    ) {
        let home: String
        let name: String
        var isInMemory = false
        switch request.destination {
        case .memory:
            isInMemory = true
            home = spillDirectory.filePath
            name = PartialLocation.spilledName
        case .file(let file):
            let path = file.filePath
            (home, name) = (PartialNames.directory(of: path), PartialNames.lastComponent(of: path))
        case .directory(let directory):
            home = directory.filePath
            // The name in the directory may change between runs, and may be invalid in the directory of partial files.
            name = FileName.portable(FileName.unsuggested(request.identity, from: request.url))
        }
        let directory = place?.directory ?? (isInMemory ? nil : partialsDirectory?.filePath) ?? home
        let record = RequestRecord(
            url: key.url,
            headers: key.headerPairs,
            hasSecretHeaders: !key.secretHeaders.isEmpty,
            destination: request.destination.record(relativeTo: directory, containers),
            choosesName: request.destination.choosesName,
            defaultFileName: request.destination.choosesName ? request.givenFileName : nil,
            checksum: request.checksum?.text,
            identity: key.identity,
            account: key.account)
        self.init(
            directory: directory, baseName: place?.baseName ?? name, request: record,
            secretHeaders: key.secretHeaders,
            medium: isInMemory ? .memory : .disk)
    }
}

extension DownloadRequest.Destination {
    /// The path that is reserved for the file, if the request specifies one.
    var path: String? {
        if case .file(let url) = self { return url.filePath }
        return nil
    }

    var choosesName: Bool {
        switch self {
        case .file, .memory: false
        case .directory: true
        }
    }

    /// Returns the text that represents the destination in a checkpoint; see ``RequestRecord/destination``.
    fileprivate func record(relativeTo directory: String, _ containers: AppContainers?) -> String {
        switch self {
        case .file(let url), .directory(let url):
            RecordedDestination(url.filePath, relativeTo: directory, containers).text
        case .memory: ""
        }
    }
}

extension RecordedSubscriber {
    /// Creates the record of a download whose bytes are in `directory`.
    init(_ id: DownloadID, _ request: DownloadRequest, in directory: String, _ containers: AppContainers?) {
        self.init(
            id: id, userInfo: request.userInfo, checksum: request.checksum?.text,
            destination: request.destination.record(relativeTo: directory, containers),
            choosesName: request.destination.choosesName)
    }
}

extension UnfinishedPartial {
    /// Returns the downloads to which the bytes belong, with their original requests except for secrets.
    func downloads(in containers: AppContainers?) -> [(id: DownloadID, request: DownloadRequest)] {
        let subscribers = location.request.subscribers
        guard !subscribers.isEmpty else {
            return DownloadRequest(self, in: containers).map { [(DownloadID(), $0)] } ?? []
        }
        return subscribers.compactMap { subscriber in
            var own = self
            own.location.request.destination = subscriber.destination
            own.location.request.choosesName = subscriber.choosesName
            own.location.request.checksum = subscriber.checksum
            guard var request = DownloadRequest(own, in: containers) else { return nil }
            request.userInfo = subscriber.userInfo
            return (subscriber.id, request)
        }
    }
}

extension DownloadRequest {
    /// Creates the request of an unfinished download, without its secrets.
    ///
    /// The result is nil if the URL or the destination is unusable.
    ///
    /// - Parameter containers: The containers of the app; nil on systems without containers.
    init?(_ unfinished: UnfinishedPartial, in containers: AppContainers?) {
        let record = unfinished.location.request
        guard let url = URL(string: record.url) else { return nil }
        let base = URL(fileURLWithPath: unfinished.location.directory, isDirectory: true)
        let recorded = RecordedDestination(text: record.destination)
        let place: URL
        switch recorded {
        case .noFile?:
            place = base
        case .below(let components)?:
            let hint: URL.DirectoryHint = record.choosesName ? .isDirectory : .notDirectory
            // `appending` never expands a tilde, unlike the resolution of a path relative to a URL.
            place =
                components.isEmpty
                ? base : base.appending(path: components.joined(separator: "/"), directoryHint: hint)
        case .absolute(let path)?:
            place = URL(fileURLWithPath: path, isDirectory: record.choosesName)
        case .inContainer(let path)?:
            guard let path = containers.flatMap({ path.path(in: $0.containers) }) else { return nil }
            place = URL(fileURLWithPath: path, isDirectory: record.choosesName)
        case nil:
            return nil
        }
        let destination: Destination =
            recorded == .noFile ? .memory : record.choosesName ? .directory(place) : .file(place)
        var headers = HeaderFields()
        for pair in record.headers where pair.count == 2 { headers.append(pair[1], for: pair[0]) }
        self.init(
            from: url, to: destination, headers: headers,
            checksum: record.checksum.flatMap { Checksum($0) }, priority: .normal)
        nonsecretHeaders = headers.declaredNames
        identity = record.identity
        account = record.account
        givenFileName = record.defaultFileName
        if case .below? = recorded { origin.directory = base.path }
    }

    /// Returns the directory that `file` must not leave through symbolic links; nil if the request wasn't restored from
    /// one.
    func confiningDirectory(of file: URL) -> String? {
        guard let directory = origin.directory else { return nil }
        let prefix = directory.hasSuffix("/") ? directory : directory + "/"
        let path = file.filePath
        return path.hasSameBytes(as: directory) || path.utf8.starts(with: prefix.utf8) ? directory : nil
    }
}

extension PartialLocation {
    /// Returns this location for bytes that were requested with the URL and the checksum of `other`.
    func withURLAndChecksum(of other: PartialLocation) -> Self {
        var location = self
        (location.request.url, location.request.checksum) = (other.request.url, other.request.checksum)
        return location
    }
}
