/// The hidden names next to a directory that is replaced as a whole.
///
///     .NAME.FINGERPRINT.lock       is locked by the owner of the new version
///     .NAME.FINGERPRINT.staged     is the new version, a directory that contains a file of this name (``StagedLinks``)
///     .NAME.FINGERPRINT.replaced   is the old version, on a volume that can't exchange two directories
///
/// The file in the staged directory marks the new version. After the exchange, it is in the destination, and the
/// directory without it is the old version, so that a process that continues after a crash knows which is which.
struct StagedNames: Sendable {
    /// The path of the directory that is replaced.
    let destination: String
    /// The names from which the name of the lock file follows.
    let lock: PartialNames

    init(destination: String, user: UInt32) {
        self.destination = destination
        let name = PartialNames.lastComponent(of: destination)
        lock = PartialNames(
            directory: PartialNames.directory(of: destination),
            stem: ".\(PartialNames.shortened(name)).\(PartialNames.fingerprint(of: ["staged", "\(user)", name]))")
    }

    /// The path of the directory that contains the destination.
    var parent: String { lock.directory }
    var staged: String { PartialNames.join(parent, marker) }
    var replaced: String { PartialNames.join(parent, lock.stem + ".replaced") }
    /// The name of the file that marks the new version.
    var marker: String { lock.stem + Self.suffix }
    /// The name of a new marker before it replaces the marker.
    var newMarker: String { marker + ".new" }

    private static let suffix = ".staged"

    /// Whether the directory is a staged directory or below one.
    static func isStaged(_ directory: String) -> Bool {
        directory.utf8.split(separator: UInt8(ascii: "/")).contains { component in
            let name = String(decoding: component, as: UTF8.self)
            return name.utf8.first == UInt8(ascii: ".") && name.hasSuffix(suffix)
                && PartialNames.isToken(
                    String(
                        decoding: component.dropLast(suffix.utf8.count).suffix(PartialNames.tokenLength),
                        as: UTF8.self))
        }
    }
}
