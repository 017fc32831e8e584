internal import Foundation

/// A path relative to a base directory whose own path may change between launches.
///
/// An update of an app moves its containers, so an absolute path that was recorded before the update is invalid
/// afterward. The text of a path is `home:Library/a.zip`, `group:<identifier>:a.zip`, or `root:Volumes/Disk/a.zip` for
/// a path outside all containers.
package struct ContainerPath: Sendable, Hashable {
    package enum Base: Sendable, Hashable {
        /// The home directory, which is the app's own container in a sandbox.
        case home
        /// The container of an app group.
        case group(String)
        /// The root of the file system.
        case root
    }

    package let base: Base
    /// The path below the base, without a slash at either end.
    package let relative: String

    /// Creates a path from its parts.
    package init(base: Base, relative: String) {
        self.base = base
        self.relative = relative
    }

    package var text: String {
        switch base {
        case .home: "home:\(relative)"
        case .group(let identifier): "group:\(identifier):\(relative)"
        case .root: "root:\(relative)"
        }
    }

    /// Parses the text of a path; nil if it is malformed, or if a component could lead out of the base.
    package init?(text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard parts.count == 2 else { return nil }
        switch parts[0] {
        case "home": (base, relative) = (.home, parts[1])
        case "root": (base, relative) = (.root, parts[1])
        case "group":
            let rest = parts[1].utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
                .map { String(decoding: $0, as: UTF8.self) }
            guard rest.count == 2, !rest[0].isEmpty else { return nil }
            (base, relative) = (.group(rest[0]), rest[1])
        default: return nil
        }
        guard Self.isPlain(relative) else { return nil }
    }

    /// Creates the relative form of an absolute path; nil if a component is empty, `.`, or `..`.
    ///
    /// - Parameters:
    ///   - path: The absolute path.
    ///   - containers: The containers.
    ///   - group: The identifier of an app group whose container is also checked, if any.
    package init?(_ path: String, in containers: any Containers, group: String? = nil) {
        let path = Self.normalized(path)
        guard path.utf8.first == UInt8(ascii: "/") else { return nil }
        var candidates: [(Base, String)] = []
        if let group, let directory = containers.group(group) { candidates.append((.group(group), directory)) }
        candidates.append((.home, containers.home))
        for (base, directory) in candidates {
            let directory = Self.normalized(directory)
            guard directory != "/" else { continue }
            if path.hasSameBytes(as: directory) {
                (self.base, relative) = (base, "")
                return
            }
            guard path.utf8.starts(with: "\(directory)/".utf8) else { continue }
            (self.base, relative) = (
                base, String(decoding: path.utf8.dropFirst(directory.utf8.count + 1), as: UTF8.self)
            )
            guard Self.isPlain(relative) else { return nil }
            return
        }
        (base, relative) = (.root, String(decoding: path.utf8.dropFirst(), as: UTF8.self))
        guard Self.isPlain(relative) else { return nil }
    }

    /// Returns the current absolute path; nil if the base does not exist for this process.
    package func path(in containers: any Containers) -> String? {
        let directory: String
        switch base {
        case .home: directory = Self.normalized(containers.home)
        case .group(let identifier):
            guard let group = containers.group(identifier) else { return nil }
            directory = Self.normalized(group)
        case .root: return "/\(relative)"
        }
        return relative.isEmpty ? directory : directory == "/" ? "/\(relative)" : "\(directory)/\(relative)"
    }

    /// Returns the path without a slash at its end, and without the prefix `/private`, which macOS and iOS add to
    /// `/var` and `/tmp` when they resolve links.
    private static func normalized(_ path: String) -> String {
        var bytes = Array(path.utf8)
        while bytes.count > 1, bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        for link in ["/private/var/", "/private/tmp/"] where bytes.starts(with: link.utf8) {
            bytes.removeFirst("/private".utf8.count)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isPlain(_ relative: String) -> Bool {
        if relative.isEmpty { return true }
        return !relative.utf8.contains(0)
            && relative.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy {
                ![[], Array(".".utf8), Array("..".utf8)].contains(Array($0))
            }
    }
}

extension ContainerPath: Codable {
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let path = Self(text: text) else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "not a path"))
        }
        self = path
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// The port to the directories whose paths the system chooses.
package protocol Containers: Sendable {
    /// The absolute path of the home directory, which is the app's own container in a sandbox.
    var home: String { get }

    /// Returns the absolute path of the container of an app group; nil if this process has no access to it.
    func group(_ identifier: String) -> String?
}

/// The containers of this process, as the system reports them.
package struct SystemContainers: Containers {
    package init() {}

    /// The containers whose paths change between launches, or nil on systems where directories don't move.
    package static var moving: (any Containers)? {
        #if canImport(Darwin)
        SystemContainers()
        #else
        nil
        #endif
    }

    package var home: String { NSHomeDirectory() }

    package func group(_ identifier: String) -> String? {
        #if canImport(Darwin)
        FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: identifier)?.path
        #else
        // App groups exist only on Apple platforms.
        nil
        #endif
    }
}
