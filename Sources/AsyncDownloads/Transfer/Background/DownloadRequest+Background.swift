internal import Foundation

extension DownloadRequest.Destination {
    /// The URL on disk, and whether it is a directory in which the name is chosen; nil for memory.
    var fileURL: (url: URL, choosesName: Bool)? {
        switch self {
        case .file(let url): (url, false)
        case .directory(let url): (url, true)
        case .memory: nil
        }
    }
}

extension BackgroundResource {
    init(_ request: DownloadRequest, _ key: TransferKey, maximumRetryCount: Int) {
        self.init(
            url: key.url, headers: key.headerPairs, identity: key.identity,
            account: key.account)
        priorityRank = Int(request.priority.rank)
        expectedByteCount = request.background.expectedByteCount
        earliestBegin = request.background.earliestBeginDate.map { HTTPDate($0, rounding: .up).secondsSinceEpoch }
        self.maximumRetryCount = maximumRetryCount
    }
}

extension DownloadRequest {
    /// Creates the request of a delivery in the journal; nil if its container isn't available.
    init?(_ record: BackgroundRecord, _ delivery: BackgroundDelivery, in containers: any Containers) {
        guard let url = URL(string: record.resource.url), let path = delivery.destination.path(in: containers) else {
            return nil
        }
        let file = URL(fileURLWithPath: path, isDirectory: delivery.choosesName)
        var headers = HeaderFields()
        for pair in record.resource.headers where pair.count == 2 { headers.append(pair[1], for: pair[0]) }
        self.init(
            from: url, to: delivery.choosesName ? .directory(file) : .file(file), headers: headers,
            checksum: delivery.checksum.flatMap { Checksum($0) }, priority: .normal)
        nonsecretHeaders = headers.declaredNames
        identity = record.resource.identity
        account = record.resource.account
        givenFileName = delivery.defaultFileName
        maximumByteCount = delivery.maximumByteCount
        networkAccess = record.resource.networks.access
        background.expectedByteCount = record.resource.expectedByteCount
        background.earliestBeginDate = record.resource.earliestBegin.map { Date(timeIntervalSince1970: Double($0)) }
    }

    /// The reason why a background session can't perform the request, or `nil` if it can.
    var backgroundValidationError: DownloadError? {
        func unsupported(_ reason: String) -> DownloadError { DownloadError(.unsupported, reason, url: url) }
        if destination == .memory { return unsupported("a background session downloads to files only") }
        if idleTimeout != nil { return unsupported("the system determines the idle timeout of a background session") }
        if deadline != nil { return unsupported("a download in a background session cannot have a deadline") }
        if authorizer != nil { return unsupported("a background session cannot ask for authorization") }
        if shouldFollowRedirect != nil { return unsupported("the system follows redirects of a background session") }
        if acceptedMediaTypes != nil || validateResponse != nil || expectedByteCount != nil {
            return unsupported("a background session accepts any response with the file")
        }
        if let secret = callerHeaders.secretFields.first(where: { _ in true }) {
            return unsupported(
                "header \(secret.name) would be recorded and sent to other origins; name it in nonsecretHeaders")
        }
        return nil
    }
}
