/// One download as the journal records it: the requested resource, the destinations, and the stage of the transfer.
///
/// The record contains no secrets: a request with secret headers is refused before it gets here.
struct BackgroundRecord: Sendable, Hashable, Codable {
    /// The stage of a download.
    enum Stage: Sendable, Hashable, Codable {
        /// No task of the download is with the system. The next one continues from the resume data, if there is any.
        case idle(resumeData: String?)
        /// A task of the current attempt was handed over to the system, or was about to be.
        case handedOver(HandOver)
        /// The complete file is in the spool.
        case received(ReceivedBody)
    }

    /// The properties of a task that was handed over.
    struct HandOver: Sendable, Hashable, Codable {
        /// The name of the file with the resume data that the task continues from, if any.
        var resumeData: String?
        /// Whether the system is known to have accepted the task.
        var isConfirmed = false
        /// The URL of the task, which may be an earlier one of the resource.
        var url: String?
        /// The position of the first byte that the task requests, if it continues ``BackgroundRecord/base``.
        var offset: Int64?
        /// The networks that the task may use; nil for all, as in journals of earlier versions.
        var networks: PermittedNetworks?
    }

    /// The number of the record, which is used once in a journal.
    let id: Int
    /// The requested resource.
    var resource: BackgroundResource
    /// The destinations that still need the file, whose outcome the app has not received yet, or which have the file.
    var deliveries: [BackgroundDelivery] = []
    /// The highest number of a delivery that was used.
    var lastDelivery = 0
    /// The generation of the session that has the task.
    var generation = 0
    /// The number of the last task.
    var attempt = 0
    var stage = Stage.idle(resumeData: nil)
    /// Whether the download is paused, or about to be when its task has been canceled.
    var isPaused = false
    /// The number of times that the download started again because its bytes or its task were lost.
    var freshStartCount = 0
    /// The number of failures that the download has left; it is refilled when bytes were kept.
    var retries: RetryBudget
    /// The time before which the next task does not start, in seconds since 1970.
    var notBefore: Int64?
    /// The number of received bytes at the last change of the stage.
    var receivedByteCount: Int64 = 0
    /// The URL that has replaced the resource's because a server had refused it.
    var freshURL: String?
    /// The URL to which the resume data belongs.
    var resumeURL: String?
    /// The networks that a task which continues from the resume data may use; nil for all.
    var resumeNetworks: PermittedNetworks?
    /// The first bytes, which another downloader has received.
    var base: BackgroundBase?
    /// The time from which no download needed the record, in seconds since 1970.
    var abandonedAt: Int64?

    init(id: Int, resource: BackgroundResource, seed: UInt64 = 0) {
        self.id = id
        self.resource = resource
        retries = RetryBudget(seed: seed)
    }

    /// The deliveries that have no outcome.
    var openDeliveries: [BackgroundDelivery] { deliveries.filter { $0.outcome == nil } }

    /// Whether the app waits for a file, or has not received an outcome.
    var isPending: Bool { deliveries.contains { $0.acknowledgedAt == nil } }

    /// The URL of a task that starts at the first byte.
    var nextURL: String { freshURL ?? resource.url }

    /// Whether a task is to be handed over.
    var isReadyForHandOver: Bool {
        guard case .idle = stage else { return false }
        return !isPaused && !openDeliveries.isEmpty
    }

    var isHandedOver: Bool { if case .handedOver = stage { true } else { false } }

    /// The name of the file with resume data that the record refers to.
    var resumeDataName: String? {
        switch stage {
        case .idle(let name): name
        case .handedOver(let handOver): handOver.resumeData
        case .received: nil
        }
    }

    /// The names of the files in the spool that the record refers to.
    var fileNames: Set<String> {
        var names = Set([base?.fileName, resumeDataName].compactMap { $0 })
        if case .received(let body) = stage { names.insert(body.fileName) }
        return names
    }
}

/// The first bytes of a resource, which another downloader has received, in a file of the spool.
struct BackgroundBase: Sendable, Hashable, Codable {
    var fileName: String
    var byteCount: Int64
    /// The strong entity tag under which the bytes were received, byte for byte.
    var entityTag: String
    /// The length of the resource, if it is known.
    var length: Int64?

    init(fileName: String, byteCount: Int64, entityTag: String, length: Int64?) {
        self.fileName = fileName
        self.byteCount = byteCount
        self.entityTag = entityTag
        self.length = length
    }

    /// The range that continues the bytes, and the representation that it is of; nil if the tag is not a strong one.
    var continuation: (requested: RequestedRange, known: Representation)? {
        guard let tag = EntityTag(entityTag), !tag.isWeak else { return nil }
        let validator = Validator.entityTag(tag)
        return (
            .continuing(at: byteCount, validator: validator, window: nil),
            Representation(finalURL: "", validator: validator, length: length)
        )
    }
}

/// A resource as the journal records it.
struct BackgroundResource: Sendable, Hashable, Codable {
    var url: String
    /// The nonsecret headers, as name and value pairs.
    var headers: [[String]]
    var identity: String?
    var account: String?
    /// The rank of the priority, where higher ones are handed over first.
    var priorityRank = 0
    var expectedByteCount: Int64?
    /// The time before which the transfer does not start, in seconds since 1970.
    var earliestBegin: Int64?
    var maximumRetryCount = 0
    /// The networks that a task may use.
    var networks = PermittedNetworks()

    init(url: String, headers: [[String]] = [], identity: String? = nil, account: String? = nil) {
        self.url = url
        self.headers = headers
        self.identity = identity
        self.account = account
    }

    /// The text that differs for most resources.
    var name: String { identity ?? url }

    /// The key of the resource, which does not depend on the settings of its transfer.
    var key: ResourceKey { ResourceKey(url: url, identity: identity, headers: headers, account: account) }
}

/// One destination of a download as the journal records it.
struct BackgroundDelivery: Sendable, Hashable, Codable {
    enum Outcome: Sendable, Hashable, Codable {
        /// The file is at this path.
        case placed(ContainerPath, BackgroundBodyInfo)
        case failed(RecordedError)
    }

    /// The number of the delivery in its record.
    let id: Int
    /// The destination: a file, or a directory in which the file's name is chosen.
    var destination: ContainerPath
    var choosesName: Bool
    /// The caller's name for the file in a directory if the server suggests none; nil for the name from the URL.
    var defaultFileName: String?
    /// The expected digest, as `algorithm=hex`.
    var checksum: String?
    var maximumByteCount: Int64?
    /// The attributes of the placed file.
    var attributes = FileAttributes()
    /// The path that was chosen in the directory, recorded before the file gets its name.
    var chosenPath: ContainerPath?
    var outcome: Outcome?
    /// The time at which the app has received the placed file, in seconds since 1970.
    ///
    /// The delivery is kept for some time, so that the same request finds the file.
    var acknowledgedAt: Int64?
    /// The downloads that the delivery serves.
    var subscribers: [Recipient] = []

    /// One of the downloads that a delivery serves.
    struct Recipient: Sendable, Hashable, Codable {
        var id: DownloadID
        var userInfo: [String: String]
    }

    init(
        id: Int, destination: ContainerPath, choosesName: Bool = false, defaultFileName: String? = nil,
        checksum: String? = nil, maximumByteCount: Int64? = nil
    ) {
        self.id = id
        self.destination = destination
        self.choosesName = choosesName
        self.defaultFileName = defaultFileName
        self.checksum = checksum
        self.maximumByteCount = maximumByteCount
    }

    /// The path at which the file is placed; nil until its name is chosen.
    var path: ContainerPath? { choosesName ? chosenPath : destination }

    /// Records another download that the delivery serves, up to a maximum number.
    mutating func add(_ subscriber: Recipient) {
        guard !subscribers.contains(where: { $0.id == subscriber.id }),
            subscribers.count < RecordedSubscriber.maximumCount
        else { return }
        subscribers.append(subscriber)
    }

    /// Returns whether a request for the same resource with `other` is served by this delivery.
    func serves(_ other: Self) -> Bool {
        destination == other.destination && choosesName == other.choosesName
            && defaultFileName == other.defaultFileName && checksum == other.checksum
            && maximumByteCount == other.maximumByteCount
    }
}

/// A complete file in the spool.
struct ReceivedBody: Sendable, Hashable, Codable {
    /// The name of the file in the spool.
    var fileName: String
    /// The inode number, by which a file that was already moved to its destination is recognized.
    var inode: UInt64
    /// The time of the last modification, in nanoseconds since 1970; nil if the file was changed in the spool.
    ///
    /// A file system reuses the inode numbers of removed files, so the number alone doesn't identify the file.
    var modificationTime: Int64?
    var info: BackgroundBodyInfo
    /// Whether the file may consist of the bytes of several responses, so that a wrong digest leads to a fresh start.
    var wasResumed: Bool?
    /// Whether the file contains only the bytes after the record's ``BackgroundRecord/base``.
    var isFragment: Bool?

    init(fileName: String, inode: UInt64, info: BackgroundBodyInfo, wasResumed: Bool? = nil) {
        self.fileName = fileName
        self.inode = inode
        self.info = info
        self.wasResumed = wasResumed
    }
}

/// The properties of a complete file.
struct BackgroundBodyInfo: Sendable, Hashable, Codable {
    var byteCount: Int64
    var finalURL: String
    var contentType: String?
    var entityTag: String?
    var lastModified: String?
    var suggestedName: String?
    /// The inode number of a placed file.
    var inode: UInt64?
    /// The time of the last modification of a placed file, in nanoseconds since 1970.
    var modificationTime: Int64?
    /// The digest that the server stated, as `algorithm=hex`.
    var serverDigest: String?

    init(byteCount: Int64, finalURL: String) {
        self.byteCount = byteCount
        self.finalURL = finalURL
    }

    /// Returns whether a file is the one that was placed, as far as its properties show.
    func describes(_ file: FileInformation) -> Bool {
        file.kind == .regular && file.size == byteCount && inode.map { $0 == file.inode } ?? true
            && modificationTime.map { $0 == file.modificationTime } ?? true
    }
}

/// An error as the journal records it, for a caller in a later process.
struct RecordedError: Sendable, Hashable, Codable, Error {
    var code: String
    var detail = ""
    var statusCode: Int?
    var isRetryable = false

    /// Creates the record of an error.
    init(_ error: DownloadError) {
        code = error.code.name
        detail = error.detail
        statusCode = error.statusCode
        isRetryable = error.isRetryable
    }

    /// The error that a caller receives.
    var error: DownloadError {
        DownloadError(
            DownloadError.Code(recordedName: code) ?? .connectionLost, detail, statusCode: statusCode,
            isRetryable: isRetryable)
    }
}
