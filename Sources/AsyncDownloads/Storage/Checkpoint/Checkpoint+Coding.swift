// The keys are written out, and all of them are always encoded: if a key is renamed by mistake, checkpoints become
// unreadable, whereas a missing key would silently mean "unknown".

extension Checkpoint: Codable {
    private enum CodingKeys: String, CodingKey {
        case generation = "generation"
        case baseName = "baseName"
        case request = "request"
        case representation = "representation"
        case received = "received"
        case token = "token"
        case inode = "inode"
        case session = "session"
        case chosenName = "chosenName"
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            generation: try values.decode(UInt64.self, forKey: .generation),
            baseName: try values.decode(String.self, forKey: .baseName),
            request: try values.decode(RequestRecord.self, forKey: .request),
            representation: try values.decode(Representation.self, forKey: .representation),
            received: try values.decode(IntervalSet.self, forKey: .received),
            token: try values.decode(String.self, forKey: .token),
            inode: try values.decode(UInt64.self, forKey: .inode),
            session: try values.decode(String?.self, forKey: .session),
            chosenName: try values.decode(String?.self, forKey: .chosenName))
    }

    func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(generation, forKey: .generation)
        try values.encode(baseName, forKey: .baseName)
        try values.encode(request, forKey: .request)
        try values.encode(representation, forKey: .representation)
        try values.encode(received, forKey: .received)
        try values.encode(token, forKey: .token)
        try values.encode(inode, forKey: .inode)
        try values.encode(session, forKey: .session)
        try values.encode(chosenName, forKey: .chosenName)
    }
}

extension RequestRecord: Codable {
    private enum CodingKeys: String, CodingKey {
        case url = "url"
        case headers = "headers"
        case hasSecretHeaders = "hasSecretHeaders"
        case destination = "destination"
        case choosesName = "choosesName"
        case defaultFileName = "defaultFileName"
        case checksum = "checksum"
        case identity = "identity"
        case account = "account"
        case subscribers = "subscribers"
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            url: try values.decode(String.self, forKey: .url),
            headers: try values.decode([[String]].self, forKey: .headers),
            hasSecretHeaders: try values.decode(Bool.self, forKey: .hasSecretHeaders),
            destination: try values.decode(String.self, forKey: .destination),
            choosesName: try values.decode(Bool.self, forKey: .choosesName),
            // Earlier versions didn't write this key, because the name always came from the URL.
            defaultFileName: try values.decodeIfPresent(String.self, forKey: .defaultFileName),
            checksum: try values.decode(String?.self, forKey: .checksum),
            identity: try values.decode(String?.self, forKey: .identity),
            account: try values.decode(String?.self, forKey: .account))
        let subscribers = try values.decodeIfPresent([RecordedSubscriber].self, forKey: .subscribers) ?? []
        var ids: Set<DownloadID> = []
        self.subscribers = subscribers.prefix(RecordedSubscriber.maximumCount).filter { ids.insert($0.id).inserted }
    }

    func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(url, forKey: .url)
        try values.encode(headers, forKey: .headers)
        try values.encode(hasSecretHeaders, forKey: .hasSecretHeaders)
        try values.encode(destination, forKey: .destination)
        try values.encode(choosesName, forKey: .choosesName)
        try values.encode(defaultFileName, forKey: .defaultFileName)
        try values.encode(checksum, forKey: .checksum)
        try values.encode(identity, forKey: .identity)
        try values.encode(account, forKey: .account)
        try values.encode(subscribers, forKey: .subscribers)
    }
}

extension Representation: Codable {
    private enum CodingKeys: String, CodingKey {
        case finalURL = "finalURL"
        case validator = "validator"
        case length = "length"
        case contentCoding = "contentCoding"
        case contentType = "contentType"
        case suggestedName = "suggestedName"
        case lastModified = "lastModified"
        case digests = "digests"
        case unverifiedFrom = "unverifiedFrom"
        case cameFromDifferentURL = "isFromDifferentURL"
        case isImported = "isImported"
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            finalURL: try values.decode(String.self, forKey: .finalURL),
            validator: try values.decode(Validator?.self, forKey: .validator),
            length: try values.decode(Int64?.self, forKey: .length),
            contentCoding: try values.decode(String?.self, forKey: .contentCoding),
            contentType: try values.decode(String?.self, forKey: .contentType),
            suggestedName: try values.decode(String?.self, forKey: .suggestedName),
            lastModified: try values.decode(String?.self, forKey: .lastModified),
            digests: try values.decode([Checksum]?.self, forKey: .digests))
        unverifiedFrom = try values.decode(Int64?.self, forKey: .unverifiedFrom)
        cameFromDifferentURL = try values.decode(Bool.self, forKey: .cameFromDifferentURL)
        isImported = try values.decode(Bool.self, forKey: .isImported)
    }

    func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(finalURL, forKey: .finalURL)
        try values.encode(validator, forKey: .validator)
        try values.encode(length, forKey: .length)
        try values.encode(contentCoding, forKey: .contentCoding)
        try values.encode(contentType, forKey: .contentType)
        try values.encode(suggestedName, forKey: .suggestedName)
        try values.encode(lastModified, forKey: .lastModified)
        try values.encode(digests, forKey: .digests)
        try values.encode(unverifiedFrom, forKey: .unverifiedFrom)
        try values.encode(cameFromDifferentURL, forKey: .cameFromDifferentURL)
        try values.encode(isImported, forKey: .isImported)
    }
}
