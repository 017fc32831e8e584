internal import Foundation

/// A file, link, or directory that someone else has placed at the name of one of the package's files.
enum PlantedFile: String, CaseIterable, Sendable {
    case linkToFile, danglingLink, linkToDirectory, hardLink, pipe, directory, unixSocket

    /// The targets of the links: a file, a directory, and a missing file.
    struct Victims {
        let file: URL
        let folder: URL
        let missing: URL
        static let bytes = Data("precious".utf8)

        init(in directory: URL) throws {
            file = directory.appending(path: "file")
            folder = directory.appending(path: "folder")
            missing = directory.appending(path: "missing")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Self.bytes.write(to: file)
        }

        /// Whether the targets are unchanged, apart from additional names of the file.
        var areUntouched: Bool {
            get throws {
                try Data(contentsOf: file) == Self.bytes
                    && FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty
                    && !FileManager.default.fileExists(atPath: missing.path)
            }
        }
    }

    /// Creates the planted file at `path`, and removes an existing file.
    func plant(at path: String, _ victims: Victims) throws {
        let files = FileManager.default
        // Removed without a test for existence, because that would follow links.
        try? files.removeItem(atPath: path)
        switch self {
        case .linkToFile: try files.createSymbolicLink(atPath: path, withDestinationPath: victims.file.path)
        case .danglingLink: try files.createSymbolicLink(atPath: path, withDestinationPath: victims.missing.path)
        case .linkToDirectory: try files.createSymbolicLink(atPath: path, withDestinationPath: victims.folder.path)
        case .hardLink: try files.linkItem(atPath: victims.file.path, toPath: path)
        case .pipe: try check(mkfifo(path, 0o600))
        case .directory: try files.createDirectory(atPath: path, withIntermediateDirectories: false)
        case .unixSocket:
            // Bound under a short name first, because the path may be too long for a socket address.
            let short = victims.folder.deletingLastPathComponent().appending(path: "s").path
            try bindSocket(at: short)
            try files.moveItem(atPath: short, toPath: path)
        }
    }

    private func bindSocket(at path: String) throws {
        #if canImport(Darwin)
        let type = SOCK_STREAM
        #else
        let type = Int32(SOCK_STREAM.rawValue)
        #endif
        let socket = socket(AF_UNIX, type, 0)
        try check(socket)
        defer { close(socket) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        try withUnsafeMutableBytes(of: &address.sun_path) { buffer in
            guard path.utf8.count < buffer.count else { throw POSIXError(.ENAMETOOLONG) }
            buffer.copyBytes(from: path.utf8)
        }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        try check(
            withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, size) }
            })
    }

    private func check(_ result: Int32) throws {
        if result < 0 { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }
}
