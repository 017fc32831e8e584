/// The names of the hidden files of one site.
///
///     .NAME.FINGERPRINT.lock                  says that a process owns the site
///     .NAME.FINGERPRINT.checkpoint            says what the partial file holds
///     .NAME.FINGERPRINT-TOKEN-OWNER.partial   the bytes
///     .NAME.FINGERPRINT-TOKEN-OWNER.temp      a checkpoint before it is renamed into its place
///     .NAME.FINGERPRINT-TOKEN-OWNER.copy      a finished file before it is renamed into its place
///
/// The fingerprint keeps different requests for files of one name apart. It proves nothing: the checkpoint holds the
/// request itself. TOKEN is random and stands for one file of one representation; OWNER is random and stands for the
/// process that has claimed that file (see ``DiskPartial``).
struct PartialNames: Sendable, Hashable {
    /// Where the files are, without a slash at the end.
    let directory: String
    /// What all names begin with.
    let stem: String

    init(_ site: PartialSite) {
        directory = Self.withoutSlash(site.directory)
        stem = ".\(Self.shortened(site.baseName)).\(Self.fingerprint(of: site))"
    }

    var lock: String { Self.join(directory, stem + ".lock") }
    var checkpoint: String { Self.join(directory, stem + Self.checkpointSuffix) }

    /// The path of the partial file, or of a file made for it, in its own directory or that of a destination.
    func path(_ claim: Claim, _ suffix: Suffix, in directory: String? = nil) -> String {
        Self.join(directory ?? self.directory, "\(stem)-\(claim.token)-\(claim.owner)\(suffix.rawValue)")
    }

    /// Whether the name is that of a file which belongs to this site and comes and goes.
    func isOwn(_ name: String) -> Bool {
        name.hasPrefix(stem + "-") && Suffix.allCases.contains { name.hasSuffix($0.rawValue) }
    }

    /// Reads the name of a partial file.
    func claim(from name: String) -> Claim? {
        guard isOwn(name), name.hasSuffix(Suffix.partial.rawValue) else { return nil }
        let parts = name.dropFirst(stem.count + 1).dropLast(Suffix.partial.rawValue.count).split(separator: "-")
        guard parts.count == 2, parts.allSatisfy({ Self.isToken($0) }) else { return nil }
        return Claim(token: String(parts[0]), owner: String(parts[1]))
    }

    /// Whether the name is that of a copy of the file that `token` stands for, whoever made it.
    func isCopy(_ name: String, of token: String) -> Bool {
        name.hasPrefix("\(stem)-\(token)-") && name.hasSuffix(Suffix.copy.rawValue)
    }

    /// How the names of checkpoints end.
    static let checkpointSuffix = ".checkpoint"

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

    private static func isToken(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 16 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
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
    private static func fingerprint(of site: PartialSite) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        for text in [site.baseName, site.request.resource] + site.request.headers.flatMap(\.self) {
            text.utf8.forEach(add)
            // No text contains this byte, so that two texts never run into one another.
            add(0xFF)
        }
        return hexadecimal(hash)
    }
}
