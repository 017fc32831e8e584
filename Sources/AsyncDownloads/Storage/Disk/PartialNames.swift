/// The names of the hidden files of one site.
///
///     .NAME.FINGERPRINT.lock                  says that a process owns the site
///     .NAME.FINGERPRINT.checkpoint            says what the partial file holds
///     .NAME.FINGERPRINT-TOKEN-OWNER.partial   the bytes
///     .NAME.FINGERPRINT-TOKEN-OWNER.temp      a checkpoint before it is renamed into its place
///     .NAME.FINGERPRINT-TOKEN-OWNER.copy      a finished file before it is renamed into its place
///
/// The fingerprint keeps different requests for files of one name apart, and so users and accounts. It proves nothing:
/// the checkpoint holds the request itself. TOKEN is random and stands for one file of one representation; OWNER is
/// random and stands for the process that has claimed that file (see ``DiskPartial``).
///
/// A name belongs to the package only if it matches its pattern as a whole.
struct PartialNames: Sendable, Hashable {
    /// Where the files are, without a slash at the end.
    let directory: String
    /// What all names begin with.
    let stem: String

    /// - Parameter user: The number of the user whose files they are.
    init(_ location: PartialLocation, user: UInt32) {
        self.init(
            directory: location.directory,
            stem: ".\(Self.shortened(location.baseName)).\(Self.fingerprint(of: location, user: user))")
    }

    init(directory: String, stem: String) {
        self.directory = Self.withoutSlash(directory)
        self.stem = stem
    }

    var lock: String { Self.join(directory, stem + Self.lockSuffix) }
    var checkpoint: String { Self.join(directory, stem + Self.checkpointSuffix) }

    /// The path of the partial file, or of a file made for it, in its own directory or that of a destination.
    func path(_ claim: Claim, _ suffix: Suffix, in directory: String? = nil) -> String {
        Self.join(directory ?? self.directory, "\(stem)-\(claim.token)-\(claim.owner)\(suffix.rawValue)")
    }

    /// Whether the name is that of a file which belongs to this site and comes and goes.
    func isOwn(_ name: String) -> Bool { file(name) != nil }

    /// Reads the name of a partial file of this site.
    func claim(from name: String) -> Claim? {
        guard let (claim, suffix) = file(name), suffix == .partial else { return nil }
        return claim
    }

    /// Whether the name is that of a copy of the file that `token` stands for, whatever process made it.
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

    /// How the names of checkpoints end.
    static let checkpointSuffix = ".checkpoint"
    /// How the names of locks end.
    static let lockSuffix = ".lock"

    /// The directory that the path's last component is in.
    static func directory(of path: String) -> String {
        // By bytes, as the system does: a slash and a combining mark behind it are one `Character`.
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The path's last component, for messages.
    static func lastComponent(of path: String) -> String {
        path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(decoding: $0, as: UTF8.self) } ?? "/"
    }

    /// Where a path leads that a record names from this directory.
    func place(_ path: String) -> String {
        path.utf8.first == UInt8(ascii: "/") ? path : Self.join(directory, path)
    }

    /// The path of `name` in `directory`.
    static func join(_ directory: String, _ name: String) -> String {
        directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)"
    }

    private static func withoutSlash(_ path: String) -> String {
        var path = path
        while path.count > 1, path.last == "/" { path.removeLast() }
        return path
    }

    /// Whether `text` is 16 hexadecimal digits in lower case.
    fileprivate static func isToken(_ text: some StringProtocol) -> Bool {
        text.utf8.count == tokenLength && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }

    fileprivate static let tokenLength = 16
}

/// The name of a hidden file, taken apart.
struct HiddenName: Sendable, Hashable {
    /// What the file is for.
    enum Kind: Sendable, Hashable {
        case lock, checkpoint
        case file(PartialNames.Claim, PartialNames.Suffix)
    }

    /// What all names of its site begin with.
    let stem: String
    let kind: Kind

    /// Whether it is the name of a partial file.
    var isPartial: Bool { if case .file(_, .partial) = kind { true } else { false } }

    /// Reads a name; nil where it does not match the pattern as a whole.
    init?(_ name: String) {
        guard name.utf8.first == UInt8(ascii: "."), let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")) else {
            return nil
        }
        let (front, suffix) = (name[..<dot], String(name[dot...]))
        switch suffix {
        case PartialNames.lockSuffix: (stem, kind) = (String(front), .lock)
        case PartialNames.checkpointSuffix: (stem, kind) = (String(front), .checkpoint)
        default:
            guard let suffix = PartialNames.Suffix(rawValue: suffix) else { return nil }
            let parts = front.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count >= 3, parts.suffix(2).allSatisfy({ PartialNames.isToken($0) }) else { return nil }
            let length = parts[parts.count - 1].utf8.count + parts[parts.count - 2].utf8.count + 2
            stem = String(decoding: front.utf8.dropLast(length), as: UTF8.self)
            kind = .file(.init(token: String(parts[parts.count - 2]), owner: String(parts[parts.count - 1])), suffix)
        }
        // `.NAME.FINGERPRINT`, of which the name has one byte at least.
        guard stem.utf8.count >= PartialNames.tokenLength + 3,
            stem.utf8.dropLast(PartialNames.tokenLength).last == UInt8(ascii: "."),
            PartialNames.isToken(String(decoding: stem.utf8.suffix(PartialNames.tokenLength), as: UTF8.self))
        else { return nil }
    }
}

extension PartialNames {
    /// How the names of files that come and go end.
    enum Suffix: String, CaseIterable {
        case partial = ".partial"
        case temporary = ".temp"
        case copy = ".copy"
    }

    /// One file of one representation, and the process that has claimed it.
    struct Claim: Sendable, Hashable {
        /// Stands for the file as long as it lives.
        let token: String
        /// Stands for the process that may put it in its place.
        let owner: String

        /// A new file's.
        static func new() -> Self { Self(token: random(), owner: random()) }

        /// The same file's under another owner.
        func taken() -> Self { Self(token: token, owner: Self.random()) }

        private static func random() -> String { hexadecimal(UInt64.random(in: .min ... .max)) }

        init(token: String, owner: String) {
            self.token = token
            self.owner = owner
        }
    }
}

extension PartialNames {
    /// How much of a name is left for the download's own when the rest is 60 bytes and file systems take 255.
    private static let baseLimit = 195

    private static func shortened(_ name: String) -> String {
        let harmless = name.unicodeScalars.map { $0 == "/" || $0 == "\0" ? "_" : $0 }
        var short = ""
        for character in String(String.UnicodeScalarView(harmless)) {
            guard short.utf8.count + character.utf8.count <= baseLimit else { break }
            short.append(character)
        }
        return short.isEmpty ? "download" : short
    }

    /// FNV-1a of the request's identity: the same in every process, unlike Swift's own hash values.
    private static func fingerprint(of location: PartialLocation, user: UInt32) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let request = location.request
        let texts = ["\(Checkpoint.format)", "\(user)", location.baseName, request.resource]
        for text in texts + (request.account.map { ["account", $0] } ?? []) + request.headers.flatMap(\.self) {
            text.utf8.forEach(add)
            // No text contains this byte, so that two texts never run into one another.
            add(0xFF)
        }
        return hexadecimal(hash)
    }
}
