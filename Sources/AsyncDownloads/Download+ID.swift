extension Download: Identifiable, Hashable {
    /// The identifier of a download.
    public typealias ID = DownloadID

    /// Returns whether two handles refer to the same download.
    public static func == (left: Download, right: Download) -> Bool { left.id == right.id }

    /// Hashes ``id``.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
