/// A file with bytes of a download that were not received by this store.
struct ImportedFile: Sendable {
    var path: String
    /// The file, open for reading.
    ///
    /// The code that opened the file has to close it.
    var handle: OpenFile
    /// The file's information when it was checked, to detect whether the path still refers to it.
    var information: FileInformation
    /// The representation of the bytes, as far as it is known.
    var representation: Representation
    /// The intervals that the file contains.
    var received: IntervalSet
    /// Whether the bytes are known to have been received with secret headers.
    var hasSecretHeaders: Bool
    /// Whether an importer may remove the file when it is no longer needed, because a downloader created it as a
    /// temporary file.
    ///
    /// Any other file may be the caller's only copy.
    var isTemporary: Bool

    init(
        path: String, handle: OpenFile, information: FileInformation, representation: Representation,
        received: IntervalSet, hasSecretHeaders: Bool = false, isTemporary: Bool
    ) {
        self.path = path
        self.handle = handle
        self.information = information
        self.representation = representation
        self.received = received
        self.hasSecretHeaders = hasSecretHeaders
        self.isTemporary = isTemporary
    }
}

extension Representation {
    /// Whether a server can be asked to prove that bytes belong to this representation.
    var isProvable: Bool { validator != nil && contentCoding == nil }
}
