/// A destination of a finished file.
package struct PlacementTarget: Sendable {
    package enum Place: Sendable, Hashable {
        /// Exactly the path, replacing an existing file.
        ///
        /// If `below` is not nil, the path is below that directory, and no directory in between may be a symbolic link.
        case path(String, below: String?)
        /// A directory, in which the file gets the name or a numbered variant of it.
        ///
        /// A name of the caller's choice, such as the last component of the URL, replaces a file unless this process
        /// placed it there for another resource. A name that the server suggests replaces no file.
        ///
        /// If `below` is not nil, the directory is below it, and no directory in between may be a symbolic link.
        case directory(String, name: String, isCallers: Bool, below: String? = nil)
    }

    package var place: Place
    /// The key of the resource; nil for a file that belongs to none.
    var resource: ResourceKey?
    /// The names that this process has used in directories.
    package var names: DirectoryNames
    /// The digest of the resource in the records of finished files; nil if its files have none.
    var recordedResource: ResourceDigest?
    /// Whether the file may replace another one.
    package var replacesFiles = true
    /// Returns whether a file without a record, which has the name of the caller's choice, may be replaced.
    var mayReplaceUnrecorded: @Sendable (FileInformation) -> Bool = { _ in true }
    /// Returns whether no request of another resource names the path.
    package var isFree: @Sendable (String) -> Bool

    init(
        _ place: Place, resource: ResourceKey?, names: DirectoryNames, isFree: @escaping @Sendable (String) -> Bool
    ) {
        self.place = place
        self.resource = resource
        self.names = names
        self.isFree = isFree
    }

    /// Creates a target at exactly `path`, regardless of other files that this process places.
    package init(path: String) {
        self.init(.path(path, below: nil), resource: nil, names: DirectoryNames(), isFree: { _ in true })
    }
}

extension PlacementTarget.Place {
    /// The directory that receives the file.
    var directory: String {
        switch self {
        case .path(let path, _): PartialNames.directory(of: path)
        case .directory(let path, _, _, _): path
        }
    }

    /// Compares bytes, because two names of equivalent characters may be those of two files.
    package static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.path(let left, let leftTop), .path(let right, let rightTop)):
            left.hasSameBytes(as: right) && leftTop.map(ByteText.init) == rightTop.map(ByteText.init)
        case (
            .directory(let left, let leftName, let isLeftCallers, let leftTop),
            .directory(let right, let rightName, let isRightCallers, let rightTop)
        ):
            left.hasSameBytes(as: right) && leftName.hasSameBytes(as: rightName) && isLeftCallers == isRightCallers
                && leftTop.map(ByteText.init) == rightTop.map(ByteText.init)
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .path(let path, _): hasher.combine(ByteText(path))
        case .directory(let path, let name, _, _):
            hasher.combine(ByteText(path))
            hasher.combine(ByteText(name))
        }
    }
}
