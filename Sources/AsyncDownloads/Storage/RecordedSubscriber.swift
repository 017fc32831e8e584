/// The record of one of the downloads of an unfinished file, which a later process can restore.
struct RecordedSubscriber: Sendable, Hashable {
    /// The maximum number of downloads that are recorded for one file.
    static let maximumCount = 16

    var id: DownloadID
    var userInfo: [String: String] = [:]
    /// The digest that the download expects, as `algorithm=hex`.
    var checksum: String?
    /// The text of a ``RecordedDestination``.
    var destination: String
    /// Whether `destination` is a directory in which the file's name has yet to be chosen.
    var choosesName = false
}

extension RecordedSubscriber: Codable {
    /// The names are part of the format of a checkpoint, and don't change with the names of the properties.
    private enum CodingKeys: String, CodingKey {
        case id = "id"
        case userInfo = "userInfo"
        case checksum = "checksum"
        case destination = "destination"
        case choosesName = "choosesName"
    }
}
