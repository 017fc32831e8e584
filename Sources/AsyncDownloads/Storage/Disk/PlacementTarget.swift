/// Where a finished file is to go.
package struct PlacementTarget: Sendable {
    package enum Place: Sendable, Hashable {
        /// Exactly there, in place of what is there.
        ///
        /// Where `directory` is not nil, the path is below it, and nothing on the way may be a symbolic link.
        case path(String, below: String?)
        /// Into a directory, under a name that may have to be numbered.
        ///
        /// A name that is the caller's, such as the last component of the URL, replaces a file that this process has not
        /// placed there for another resource. A name that the server suggests replaces no file.
        ///
        /// Where `below` is not nil, the directory is below it, and nothing on the way may be a symbolic link.
        case directory(String, name: String, isCallers: Bool, below: String? = nil)
    }

    package var place: Place
    /// What stands for the resource.
    package var resource: String
    /// What this process knows of the names in directories.
    package var names: DirectoryNames
    /// Whether no request of another resource names this path.
    package var isFree: @Sendable (String) -> Bool

    package init(
        _ place: Place, resource: String, names: DirectoryNames, isFree: @escaping @Sendable (String) -> Bool
    ) {
        self.place = place
        self.resource = resource
        self.names = names
        self.isFree = isFree
    }

    /// Exactly at `path`, without regard to what else this process places.
    package init(path: String) {
        self.init(.path(path, below: nil), resource: "", names: DirectoryNames(), isFree: { _ in true })
    }
}

extension Partial {
    /// Puts the finished file exactly at each of `paths`; see ``place(at:length:)-(_,_)``.
    package func place(at paths: [String], length: Int64) -> [Result<Void, DownloadError>] {
        place(at: paths.map { PlacementTarget(path: $0) }, length: length).map { $0.map { _ in } }
    }
}
