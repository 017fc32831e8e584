internal import AsyncDownloads
internal import Foundation

/// The names of the files of a run, as far as they are known before the first response.
///
/// If several URLs end in the same name, the names get numbers in the order of the items, so that each URL has the same
/// name in every run, regardless of which response arrives first. The register contains hash values only, because a
/// manifest may be long.
struct NameRegister: Sendable {
    /// The number of the directories of a URL's path that are removed from the path of its file; nil for all of them.
    var cutDirectoryCount: Int?

    /// The hash value of the resource that has a path, by the hash value of the path, unless ``next`` includes the path.
    private var owners = HashTable()
    /// The number in the name of a resource, by the hash value of the resource and its path without a number.
    private var numbers = HashTable()
    /// The first number that no resource has, by the hash value of the path without a number.
    private var next = HashTable()
    /// A value for each directory that a path contains, by the hash value of the directory's path.
    private var directories = HashTable()

    init(cutDirectoryCount: Int? = nil) {
        self.cutDirectoryCount = cutDirectoryCount
    }

    /// Determines the path of an item's file, except for a name that the server may suggest.
    ///
    /// A directory of a URL whose name is the name of an earlier file gets a number as well.
    ///
    /// - Returns: False if another resource has the path, or if the path of a file is the path of a directory. This can
    ///   happen only if the item gives a path itself.
    mutating func register(_ item: inout Item) -> Bool {
        let resource = item.resourceHash
        let owner = UInt32(truncatingIfNeeded: resource)
        if item.output == nil, item.subdirectory.isEmpty, let cutDirectoryCount {
            item.isSubdirectoryFromURL = true
            item.subdirectory = item.address.directories.dropFirst(cutDirectoryCount).joined(separator: "/")
        }
        guard placeDirectories(of: &item) else { return false }
        let path = item.path
        if has(path, resource) { return true }
        guard isTaken(path) else {
            owners[path.hashValue] = owner
            return true
        }
        guard item.output == nil else { return false }
        let (name, key) = (item.fileName, Self.key(path.hashValue, resource))
        var number = numbers[key] ?? next[path.hashValue] ?? 2
        item.numberedName = FileName.numbered(name, Int(number))
        guard numbers[key] == nil else { return true }
        while isTaken(item.path) {
            number += 1
            item.numberedName = FileName.numbered(name, Int(number))
        }
        numbers[key] = number
        next[path.hashValue] = number + 1
        // A long name was cut to make room for the number.
        if !isTaken(item.path) { owners[item.path.hashValue] = owner }
        return true
    }

    /// Returns whether the resource has the path.
    private func has(_ path: String, _ resource: Int) -> Bool {
        if owners[path.hashValue] == UInt32(truncatingIfNeeded: resource) { return true }
        guard let variant = Self.variant(path) else { return false }
        return numbers[Self.key(variant.path, resource)] == variant.number
    }

    /// Determines the directories of an item's file; returns false if the item gives a directory that is another's file.
    private mutating func placeDirectories(of item: inout Item) -> Bool {
        // The name of a file has no directories.
        if item.output == nil, item.subdirectory.isEmpty { return true }
        let components = item.path.utf8.split(separator: UInt8(ascii: "/")).dropLast()
        guard !components.isEmpty else { return true }
        var path = ""
        for component in components {
            let name = String(decoding: component, as: UTF8.self)
            func candidate(_ name: String) -> String { path.isEmpty ? name : "\(path)/\(name)" }
            var (next, number) = (candidate(name), 2)
            while isFile(next) {
                guard item.output == nil, item.isSubdirectoryFromURL else { return false }
                next = candidate(FileName.numbered(name, number))
                number += 1
            }
            path = next
            directories[path.hashValue] = 1
        }
        if item.isSubdirectoryFromURL { item.subdirectory = path }
        return true
    }

    /// Returns whether the path is a file of some resource, or a directory.
    private func isTaken(_ path: String) -> Bool { directories[path.hashValue] != nil || isFile(path) }

    /// Returns whether some resource has the path.
    private func isFile(_ path: String) -> Bool {
        // A number that a directory has was left out.
        if directories[path.hashValue] != nil { return false }
        if owners[path.hashValue] != nil { return true }
        guard let variant = Self.variant(path), let next = next[variant.path] else { return false }
        return variant.number < next
    }

    /// Returns the hash value of the path without a number, and the number; nil if the path has none.
    private static func variant(_ path: String) -> (path: Int, number: UInt32)? {
        let start = path.utf8.lastIndex(of: UInt8(ascii: "/")).map(path.utf8.index(after:)) ?? path.startIndex
        let name = path[start...]
        guard name.utf8.contains(UInt8(ascii: "-")), let (first, number) = FileName.unnumbered(String(name)),
            let number = UInt32(exactly: number)
        else { return nil }
        return ((path[..<start] + first).hashValue, number)
    }

    private static func key(_ path: Int, _ resource: Int) -> Int {
        var hasher = Hasher()
        hasher.combine(path)
        hasher.combine(resource)
        return hasher.finalize()
    }
}

extension Item {
    /// A hash value of everything by which the library distinguishes resources.
    fileprivate var resourceHash: Int {
        var hasher = Hasher()
        // The fragment is not sent.
        hasher.combine(Substring(address.url.absoluteString.utf8.prefix { $0 != UInt8(ascii: "#") }))
        hasher.combine(headers)
        hasher.combine(publicHeaders)
        return hasher.finalize()
    }
}

extension Address {
    /// The sanitized names of the directories in the URL's path, without `.`, `..`, and empty ones.
    fileprivate var directories: [String] {
        url.path(percentEncoded: true).utf8.split(separator: UInt8(ascii: "/")).dropLast()
            .compactMap { FileName.fromURLPath(String(decoding: $0, as: UTF8.self)) }
    }
}
