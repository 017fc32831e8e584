/// A file with bytes of a download that something else than this store has received.
package struct ImportedFile: Sendable {
    package var path: String
    /// Open to read; whoever opened it closes it.
    package var handle: OpenFile
    /// What it was when it was checked, to tell whether the path still leads to it.
    package var information: FileInformation
    /// What is known of the object that the bytes are of.
    package var representation: Representation
    /// Which bytes are there.
    package var received: IntervalSet
    /// Whether the bytes were received with secret headers, as far as is known.
    package var hasSecretHeaders: Bool
    /// Whether the file is one that a downloader has made for itself, so that it is removed when it is not needed any
    /// more; any other file may be the caller's only copy.
    package var isTemporary: Bool

    package init(
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
    /// Whether a server can be asked to prove that bytes are of this object.
    package var isProvable: Bool { validator != nil && contentCoding == nil }
}
