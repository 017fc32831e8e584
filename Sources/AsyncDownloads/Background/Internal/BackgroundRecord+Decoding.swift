/// The recorded forms, in which a missing value has its default, so that a journal of an earlier version can be read.
///
/// A value without a sensible default, such as a URL, is required. Optional values need no code here.
extension BackgroundRecord {
    enum CodingKeys: String, CodingKey {
        case id = "id"
        case resource = "resource"
        case deliveries = "deliveries"
        case lastDelivery = "lastDelivery"
        case generation = "generation"
        case attempt = "attempt"
        case stage = "stage"
        case isPaused = "isPaused"
        case freshStartCount = "freshStartCount"
        case retries = "retries"
        case notBefore = "notBefore"
        case receivedByteCount = "receivedByteCount"
        case freshURL = "freshURL"
        case resumeURL = "resumeURL"
        case resumeNetworks = "resumeNetworks"
        case base = "base"
        case abandonedAt = "abandonedAt"
    }

    private enum EarlierKeys: String, CodingKey {
        /// The number of failures, before there was a budget.
        case retryCount = "retryCount"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: try container.decode(Int.self, forKey: .id),
            resource: try container.decode(BackgroundResource.self, forKey: .resource))
        try container.read(.deliveries, into: &deliveries)
        lastDelivery = deliveries.map(\.id).max() ?? 0
        try container.read(.lastDelivery, into: &lastDelivery)
        try container.read(.generation, into: &generation)
        try container.read(.attempt, into: &attempt)
        try container.read(.stage, into: &stage)
        try container.read(.isPaused, into: &isPaused)
        try container.read(.freshStartCount, into: &freshStartCount)
        try container.read(.notBefore, into: &notBefore)
        try container.read(.receivedByteCount, into: &receivedByteCount)
        try container.read(.freshURL, into: &freshURL)
        try container.read(.resumeURL, into: &resumeURL)
        try container.read(.resumeNetworks, into: &resumeNetworks)
        try container.read(.base, into: &base)
        try container.read(.abandonedAt, into: &abandonedAt)
        let earlier = try decoder.container(keyedBy: EarlierKeys.self)
        var failures = 0
        try earlier.read(.retryCount, into: &failures)
        retries = RetryBudget(seed: UInt64(id.magnitude), retriesUsed: failures)
        retries.found(receivedByteCount)
        try container.read(.retries, into: &retries)
    }
}

extension BackgroundRecord.HandOver {
    enum CodingKeys: String, CodingKey {
        case resumeData = "resumeData"
        case isConfirmed = "isConfirmed"
        case url = "url"
        case offset = "offset"
        case networks = "networks"
    }

    init(from decoder: any Decoder) throws {
        self.init()
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try container.read(.resumeData, into: &resumeData)
        try container.read(.isConfirmed, into: &isConfirmed)
        try container.read(.url, into: &url)
        try container.read(.offset, into: &offset)
        try container.read(.networks, into: &networks)
    }
}

extension BackgroundResource {
    enum CodingKeys: String, CodingKey {
        case url = "url"
        case headers = "headers"
        case identity = "identity"
        case account = "account"
        case priorityRank = "priorityRank"
        case expectedByteCount = "expectedByteCount"
        case earliestBegin = "earliestBegin"
        case maximumRetryCount = "maximumRetryCount"
        case networks = "networks"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(url: try container.decode(String.self, forKey: .url))
        try container.read(.headers, into: &headers)
        try container.read(.identity, into: &identity)
        try container.read(.account, into: &account)
        try container.read(.priorityRank, into: &priorityRank)
        try container.read(.expectedByteCount, into: &expectedByteCount)
        try container.read(.earliestBegin, into: &earliestBegin)
        try container.read(.maximumRetryCount, into: &maximumRetryCount)
        try container.read(.networks, into: &networks)
    }
}

extension BackgroundDelivery {
    enum CodingKeys: String, CodingKey {
        case id = "id"
        case destination = "destination"
        case choosesName = "choosesName"
        case defaultFileName = "defaultFileName"
        case checksum = "checksum"
        case maximumByteCount = "maximumByteCount"
        case attributes = "attributes"
        case chosenPath = "chosenPath"
        case outcome = "outcome"
        case acknowledgedAt = "acknowledgedAt"
        case subscribers = "subscribers"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: try container.decode(Int.self, forKey: .id),
            destination: try container.decode(ContainerPath.self, forKey: .destination))
        try container.read(.choosesName, into: &choosesName)
        try container.read(.defaultFileName, into: &defaultFileName)
        try container.read(.checksum, into: &checksum)
        try container.read(.maximumByteCount, into: &maximumByteCount)
        try container.read(.attributes, into: &attributes)
        try container.read(.chosenPath, into: &chosenPath)
        try container.read(.outcome, into: &outcome)
        try container.read(.acknowledgedAt, into: &acknowledgedAt)
        try container.read(.subscribers, into: &subscribers)
    }
}

extension RecordedError {
    enum CodingKeys: String, CodingKey {
        case code = "code"
        case detail = "detail"
        case statusCode = "statusCode"
        case isRetryable = "isRetryable"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        code = try container.decode(String.self, forKey: .code)
        try container.read(.detail, into: &detail)
        try container.read(.statusCode, into: &statusCode)
        try container.read(.isRetryable, into: &isRetryable)
    }
}

extension BackgroundJournal {
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        var records: [BackgroundRecord] = []
        try container.read(.records, into: &records)
        var lastNumber = 0
        try container.read(.lastNumber, into: &lastNumber)
        self.init(
            identifier: try container.decode(String.self, forKey: .identifier),
            token: try container.decode(String.self, forKey: .token),
            generations: try container.decode([Generation].self, forKey: .generations),
            records: records, lastNumber: lastNumber)
        guard !generations.isEmpty else {
            throw DecodingError.dataCorruptedError(
                forKey: .generations, in: container, debugDescription: "a journal has at least one generation")
        }
    }
}

extension BackgroundJournal.Generation {
    enum CodingKeys: String, CodingKey {
        case number = "number"
        case options = "options"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        number = try container.decode(Int.self, forKey: .number)
        try container.read(.options, into: &options)
    }
}
