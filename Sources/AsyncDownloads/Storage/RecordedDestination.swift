/// The destination of an unfinished download as its checkpoint records it.
///
/// An update of an app moves its containers, so an absolute path in a container would be invalid afterward. Therefore,
/// a path below the checkpoint's directory or a container is recorded relative to it.
enum RecordedDestination: Sendable, Hashable {
    /// No file is requested.
    case noFile
    /// A path below the checkpoint's directory; without components, the directory itself.
    case below([String])
    /// A path in a container of the app, without components that begin with a tilde.
    case inContainer(ContainerPath)
    /// An absolute path without components that are empty, `.`, `..`, or begin with a tilde.
    case absolute(String)

    private static let tilde = UInt8(ascii: "~")
    private static let slash = UInt8(ascii: "/")

    /// Parses the text of a checkpoint, which may have been forged; nil if the text isn't a valid destination.
    init?(text: String) {
        guard !text.utf8.contains(0) else { return nil }
        if text.isEmpty {
            self = .noFile
        } else if text.utf8.first == Self.tilde {
            let rest = String(decoding: text.utf8.dropFirst(), as: UTF8.self)
            guard let path = ContainerPath(text: rest), path.base != .root, Self.hasNoTilde(path.relative) else {
                return nil
            }
            self = .inContainer(path)
        } else if text.utf8.first == Self.slash {
            let path = String(decoding: text.utf8.dropFirst(), as: UTF8.self)
            guard Self.components(of: path).allSatisfy(Self.isPlain), Self.hasNoTilde(path) else { return nil }
            self = .absolute(text)
        } else {
            var components = Self.components(of: text)
            if components.first == "." { components.removeFirst() }
            guard components.allSatisfy(Self.isPlain) else { return nil }
            self = .below(components)
        }
    }

    /// Creates the record of an absolute path.
    ///
    /// - Parameters:
    ///   - path: The absolute path of the destination.
    ///   - directory: The absolute path of the checkpoint's directory.
    ///   - containers: The containers of the app; nil on systems without containers.
    init(_ path: String, relativeTo directory: String, _ containers: AppContainers?) {
        let prefix = directory.hasSuffix("/") ? directory : directory + "/"
        if path.hasSameBytes(as: directory) {
            self = .below([])
        } else if path.utf8.starts(with: prefix.utf8) {
            // Bytes are compared, as in the system, because a slash and a combining mark after it form one `Character`.
            self = .below(Self.components(of: String(decoding: path.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)))
        } else if let path = containers?.relative(path), Self.hasNoTilde(path.relative) {
            self = .inContainer(path)
        } else {
            self = .absolute(path)
        }
    }

    /// The text of the record.
    var text: String {
        switch self {
        case .noFile: return ""
        case .below(let components):
            if components.isEmpty { return "." }
            let path = components.joined(separator: "/")
            // A tilde at the beginning marks a path in a container.
            return path.utf8.first == Self.tilde ? "./" + path : path
        case .inContainer(let path): return "~" + path.text
        case .absolute(let path): return path
        }
    }

    private static func components(of text: String) -> [String] {
        text.utf8.split(separator: slash, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns whether no component begins with a tilde, which Foundation expands in some paths.
    private static func hasNoTilde(_ path: String) -> Bool {
        components(of: path).allSatisfy { $0.utf8.first != tilde }
    }

    private static func isPlain(_ component: String) -> Bool { !["", ".", ".."].contains(component) }
}

/// The containers of an app, and the app groups to which it belongs.
struct AppContainers: Sendable {
    let containers: any Containers
    let groups: [String]

    init(_ containers: any Containers, groups: Set<String>) {
        self.containers = containers
        self.groups = groups.sorted()
    }

    /// Returns the path relative to its container; nil if it isn't in a container.
    func relative(_ path: String) -> ContainerPath? {
        let candidates =
            groups.map { ContainerPath(path, in: containers, group: $0) } + [
                ContainerPath(path, in: containers)
            ]
        return candidates.lazy.compactMap(\.self).first { $0.base != .root }
    }
}
