/// The names of the hidden files of one partial.
///
///     .NAME.FINGERPRINT.lock                    is locked by the process that owns the partial; becomes a small file
///     .NAME.FINGERPRINT.checkpoint              describes the contents of the partial file
///     .NAME.FINGERPRINT-TOKEN-OWNER.checkpoint  is the checkpoint if another user's file has the usual name
///     .NAME.FINGERPRINT-TOKEN-OWNER.partial     contains the bytes
///     .NAME.FINGERPRINT-TOKEN-OWNER.temp        is a new checkpoint before its rename
///     .NAME.FINGERPRINT-TOKEN-OWNER.copy        is a copy of a finished file before its rename
///
/// FINGERPRINT distinguishes requests for files of the same name, including requests of different users and accounts.
/// It isn't a proof of the request, which the checkpoint contains. TOKEN is random and identifies one file of one
/// representation. OWNER identifies the process that has claimed the file (see ``PartialFile``). It is zero if only one
/// process can use the file, so that the name follows from the token. Otherwise, it is random.
///
/// A file belongs to the package only if its whole name matches one of these patterns.
struct PartialNames: Sendable, Hashable {
    /// The directory of the files, without a trailing slash.
    let directory: String
    /// The common prefix of all names.
    let stem: String
    /// The path of ``stem`` in the directory.
    private let path: String

    /// Creates the names for a location.
    ///
    /// - Parameters:
    ///   - location: The location.
    ///   - user: The ID of the user who owns the files.
    init(_ location: PartialLocation, user: UInt32) {
        self.init(
            directory: location.directory,
            stem: ".\(Self.shortened(location.baseName)).\(Self.fingerprint(of: location, user: user))")
    }

    init(directory: String, stem: String) {
        self.directory = Self.withoutSlash(directory)
        self.stem = stem
        path = Self.join(self.directory, stem)
    }

    var lock: String { path + Self.lockSuffix }
    var checkpoint: String { path + Self.checkpointSuffix }

    /// Returns the path of the partial file, or of a related file, in the partial's directory or in a destination's.
    func path(_ claim: Claim, _ suffix: Suffix, in directory: String? = nil) -> String {
        Self.join(directory ?? self.directory, "\(stem)-\(claim.token)-\(claim.owner)\(suffix.rawValue)")
    }

    /// Returns whether the name belongs to this location and contains a token and an owner.
    func isOwn(_ name: String) -> Bool { file(name) != nil }

    /// Returns whether the name belongs to a checkpoint that does not have the usual name.
    func isDisplacedCheckpoint(_ name: String) -> Bool { file(name)?.suffix == .checkpoint }

    /// Reads the name of a partial file of this location; returns nil for any other name.
    func claim(from name: String) -> Claim? {
        guard let (claim, suffix) = file(name), suffix == .partial else { return nil }
        return claim
    }

    /// Returns whether the name belongs to a copy, made by any process, of the file with `token`.
    func isCopy(_ name: String, of token: String) -> Bool {
        guard let (claim, suffix) = file(name), suffix == .copy else { return false }
        return claim.token == token
    }

    private func file(_ name: String) -> (claim: Claim, suffix: Suffix)? {
        guard name.hasPrefix(stem), let hidden = HiddenName(name), hidden.stem == stem,
            case .file(let claim, let suffix) = hidden.kind
        else { return nil }
        return (claim, suffix)
    }

    /// The suffix of checkpoint files.
    static let checkpointSuffix = Suffix.checkpoint.rawValue
    /// The suffix of lock files.
    static let lockSuffix = ".lock"

    /// Returns the directory that contains the path's last component.
    static func directory(of path: String) -> String {
        // Bytes are compared, as in the system, because a slash and a following combining mark form one `Character`.
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Returns the path's last component, for messages.
    static func lastComponent(of path: String) -> String {
        if let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) {
            let name = path.utf8[path.utf8.index(after: slash)...]
            if !name.isEmpty { return String(Substring(name)) }
        }
        return path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(decoding: $0, as: UTF8.self) } ?? "/"
    }

    /// Returns the absolute path of a destination that a request record may name relative to this directory.
    func place(_ path: String) -> String {
        path.utf8.first == UInt8(ascii: "/") ? path : Self.join(directory, path)
    }

    /// Returns the path of `name` in `directory`.
    static func join(_ directory: String, _ name: String) -> String {
        var path = ""
        path.reserveCapacity(directory.utf8.count + 1 + name.utf8.count)
        path += directory
        if directory.utf8.last != UInt8(ascii: "/") { path += "/" }
        path += name
        return path
    }

    private static func withoutSlash(_ path: String) -> String {
        let slash = UInt8(ascii: "/")
        guard path.utf8.count > 1, path.utf8.last == slash else { return path }
        let rest = path.utf8.lastIndex { $0 != slash }
        return rest.map { String(decoding: path.utf8[...$0], as: UTF8.self) } ?? "/"
    }

    /// Returns whether `text` consists of 16 lowercase hexadecimal digits.
    static func isToken(_ text: some StringProtocol) -> Bool {
        text.utf8.count == tokenLength && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }

    static let tokenLength = 16
}

/// The parsed name of a hidden file.
struct HiddenName: Sendable, Hashable {
    /// The purpose of the file.
    enum Kind: Sendable, Hashable {
        case lock, checkpoint
        case file(PartialNames.Claim, PartialNames.Suffix)
    }

    /// The common prefix of all names of the file's location.
    let stem: String
    let kind: Kind

    /// Whether the name belongs to a partial file.
    var isPartial: Bool { if case .file(_, .partial) = kind { true } else { false } }

    /// Whether the name belongs to a checkpoint.
    var isCheckpoint: Bool {
        switch kind {
        case .checkpoint, .file(_, .checkpoint): true
        case .lock, .file: false
        }
    }

    /// Parses a name; nil if it does not match a pattern as a whole.
    init?(_ name: String) {
        guard name.utf8.first == UInt8(ascii: "."), let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")) else {
            return nil
        }
        let (front, suffix) = (name[..<dot], String(name[dot...]))
        switch suffix {
        case PartialNames.lockSuffix: (stem, kind) = (String(front), .lock)
        default:
            guard let suffix = PartialNames.Suffix(rawValue: suffix) else { return nil }
            // By bytes, because a character may combine a hyphen with what follows it.
            let parts = front.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
                .map { String(decoding: $0, as: UTF8.self) }
            if parts.count >= 3, parts.suffix(2).allSatisfy({ PartialNames.isToken($0) }) {
                let length = 2 * PartialNames.tokenLength + 2
                stem = String(decoding: front.utf8.dropLast(length), as: UTF8.self)
                kind = .file(.init(token: parts[parts.count - 2], owner: parts[parts.count - 1]), suffix)
            } else {
                guard suffix == .checkpoint else { return nil }
                (stem, kind) = (String(front), .checkpoint)
            }
        }
        // `.NAME.FINGERPRINT`, in which NAME has at least one byte.
        guard stem.utf8.count >= PartialNames.tokenLength + 3,
            stem.utf8.dropLast(PartialNames.tokenLength).last == UInt8(ascii: "."),
            PartialNames.isToken(String(decoding: stem.utf8.suffix(PartialNames.tokenLength), as: UTF8.self))
        else { return nil }
    }
}

extension PartialNames {
    /// The suffixes of files with a token and an owner in their names.
    enum Suffix: String, CaseIterable {
        case partial = ".partial"
        case temporary = ".temp"
        case copy = ".copy"
        case checkpoint = ".checkpoint"
    }

    /// The identifiers of one file of one representation, and of the process that has claimed the file.
    struct Claim: Sendable, Hashable {
        /// The identifier of the file, which never changes.
        let token: String
        /// The identifier of the process that may rename the file to its destination.
        let owner: String

        /// Returns the claim of a new file.
        ///
        /// - Parameter isExclusive: Whether no other process can use the file.
        static func new(isExclusive: Bool = false) -> Self {
            Self(token: random(), owner: isExclusive ? exclusiveOwner : random())
        }

        /// Returns the claim of the same file for a new owner.
        func taken() -> Self { Self(token: token, owner: Self.random()) }

        /// The claim of the same file for a process with an exclusive lock.
        var exclusive: Self { Self(token: token, owner: Self.exclusiveOwner) }

        /// Whether the names of the files follow from the token.
        var isExclusive: Bool { owner == Self.exclusiveOwner }

        private static let exclusiveOwner = hexadecimal(UInt64(0))

        private static func random() -> String { hexadecimal(UInt64.random(in: 1 ... .max)) }

        init(token: String, owner: String) {
            self.token = token
            self.owner = owner
        }

        /// Creates the claim of the file with `token` for a process with an exclusive lock.
        ///
        /// A token from a file is checked, because it becomes a part of a path.
        init?(exclusive token: String) {
            guard PartialNames.isToken(token) else { return nil }
            self.init(token: token, owner: Self.exclusiveOwner)
        }
    }
}

extension PartialNames {
    /// The maximum length of NAME in bytes; the rest of a file name has up to 63 bytes, and file systems accept 255.
    private static let baseLimit = 192

    static func shortened(_ name: String) -> String {
        // Most names are short and contain nothing that has to be replaced.
        if !name.isEmpty, name.utf8.count <= baseLimit, name.utf8.allSatisfy({ $0 != UInt8(ascii: "/") && $0 != 0 }) {
            return name
        }
        let cleaned = name.unicodeScalars.map { $0 == "/" || $0 == "\0" ? "_" : $0 }
        var short = ""
        for character in String(String.UnicodeScalarView(cleaned)) {
            guard short.utf8.count + character.utf8.count <= baseLimit else { break }
            short.append(character)
        }
        return short.isEmpty ? "download" : short
    }

    private static func fingerprint(of location: PartialLocation, user: UInt32) -> String {
        fingerprint(of: ["\(Checkpoint.format)", "\(user)", location.baseName] + location.request.key.texts)
    }

    /// Returns the FNV-1a hash of texts.
    ///
    /// Unlike Swift's hash values, the hash is the same in every process.
    static func fingerprint(of texts: [String]) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        func add(_ text: String) {
            var text = text
            text.withUTF8 { for byte in $0 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 } }
            // UTF-8 text never contains this byte, so a different division of the same characters has another hash.
            hash = (hash ^ 0xFF) &* 0x100_0000_01B3
        }
        for text in texts { add(text) }
        return hexadecimal(hash)
    }
}
