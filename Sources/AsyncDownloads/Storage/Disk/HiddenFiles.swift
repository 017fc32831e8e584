/// The package's hidden files in one directory, according to their names.
struct HiddenFiles: Sendable {
    /// The files of one location.
    struct Location: Sendable {
        let names: PartialNames
        /// The names of the files, sorted, with their kinds.
        fileprivate(set) var files: [(name: String, parts: HiddenName)] = []

        var hasCheckpoint: Bool { files.contains { $0.parts.isCheckpoint } }
    }

    /// The absolute path of the directory.
    let directory: String
    /// The locations that have a hidden file, sorted by the names of their files.
    let locations: [Location]

    /// Finds the hidden files among the files of a directory.
    ///
    /// - Parameters:
    ///   - listed: The names of all files in the directory.
    ///   - directory: The absolute path of the directory.
    init(_ listed: [String], in directory: String) {
        let hidden = listed.compactMap { name in HiddenName(name).map { (name: name, parts: $0) } }
        var locations: [Location] = []
        // Stems are compared by bytes: two spellings of one text belong to two locations.
        var indices: [ByteText: Int] = [:]
        for (name, parts) in hidden.sorted(by: { $0.name < $1.name }) {
            let index = indices[ByteText(parts.stem), default: locations.count]
            if index == locations.count {
                indices[ByteText(parts.stem)] = index
                locations.append(Location(names: PartialNames(directory: directory, stem: parts.stem)))
            }
            locations[index].files.append((name, parts))
        }
        self.directory = directory
        self.locations = locations
    }
}

extension PartialStore {
    /// The maximum number of levels below a directory that are searched.
    static let searchedDepth = 32
    /// The maximum number of directories that one search visits.
    static let searchedCount = 10_000

    /// Calls `body` with the hidden files of the directory and, if requested, of the directories below it.
    ///
    /// The nearest directories are searched first, within ``searchedDepth`` and ``searchedCount``. Symbolic links below
    /// `directory` aren't followed. Subdirectories that can't be read are omitted. Subdirectories to which every user
    /// can write are omitted, too, because another user could replace what they contain by links at any time.
    ///
    /// - Throws: The failure of listing `directory` itself.
    func searchHiddenFiles(
        in directory: String, includingSubdirectories: Bool, _ body: (HiddenFiles) -> Void
    ) throws(FileFailure) {
        var found = [(path: directory, depth: 0)]
        var next = 0
        while next < found.count {
            let (path, depth) = found[next]
            next += 1
            let names: [String]
            do {
                names = try disk.names(in: path)
            } catch {
                if depth == 0 { throw error }
                continue
            }
            // A link may have replaced the directory since it was found.
            guard depth == 0 || isSearchable(path) else { continue }
            body(HiddenFiles(names, in: path))
            guard includingSubdirectories, depth < Self.searchedDepth else { continue }
            let subdirectories = names.lazy.map { PartialNames.join(path, $0) }.filter(isSearchable)
            found += subdirectories.prefix(Self.searchedCount - found.count).map { ($0, depth + 1) }
        }
    }

    private func isSearchable(_ path: String) -> Bool {
        guard let information = try? disk.information(at: path) else { return false }
        return information.kind == .directory && information.permissions & 0o002 == 0
    }
}
