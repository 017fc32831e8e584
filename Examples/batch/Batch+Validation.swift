internal import ArgumentParser
internal import AsyncDownloads
internal import Foundation

extension Batch {
    /// Whether the command has no arguments, so that the demonstration runs.
    var isDemonstration: Bool { !namesDownloads && cleaned == nil && givenOptions.isEmpty }

    private var namesDownloads: Bool { !urls.isEmpty || !manifests.isEmpty }

    private var manifests: [String] { inputs + checksums }

    /// Rejects invalid options and combinations; errors in a manifest are found when it is read.
    func validate() throws {
        if directory == "" || cleaned == "" { throw ValidationError("the directory is empty") }
        if let cutDirectoryCount {
            guard keepsDirectories else { throw ValidationError("--cut-dirs requires --directories") }
            guard cutDirectoryCount >= 0 else { throw ValidationError("--cut-dirs requires a number of at least 0") }
        }
        if !checksums.isEmpty, base == nil {
            throw ValidationError("--checksums requires --base, the URL of its files")
        }
        if base != nil, manifests.isEmpty {
            throw ValidationError("--base requires a manifest (-i) or --checksums")
        }
        if manifests.count(where: { $0 == "-" }) > 1 {
            throw ValidationError("only one manifest can be read from standard input")
        }
        for (option, result) in [("--report", report), ("--failed", failureManifest)] {
            guard let result, manifests.contains(where: { Self.isSameFile($0, result) }) else { continue }
            throw ValidationError("the file of \(option) is read as a manifest, so it cannot be written at the end")
        }
        if let report, let failureManifest, Self.isSameFile(report, failureManifest) {
            throw ValidationError("--report and --failed cannot be written to the same file")
        }
        if isAtomic { try validateAtomic() }
        if cleaned != nil {
            guard !namesDownloads, Set(givenOptions).isSubset(of: ["--json", "-q", "--no-progress"]) else {
                throw ValidationError("--clean cannot be combined with downloads or their options")
            }
        } else if !namesDownloads {
            guard let option = givenOptions.first else { return }
            throw ValidationError("\(option) was given, but nothing to download: add URLs, or a manifest with -i")
        }
        if urls.count != 1 || !manifests.isEmpty {
            if output != nil { throw ValidationError("-o requires a single URL; in a manifest, use out= for each URL") }
            if checksum != nil {
                throw ValidationError("--checksum requires a single URL; in a manifest, use checksum= for each URL")
            }
        }
    }

    /// Rejects directories that `--atomic` can't replace, and results that would be replaced with the directory.
    private func validateAtomic() throws {
        guard directory != nil else { throw ValidationError("--atomic requires -d, the directory that it replaces") }
        guard transfers.existing != .fail else {
            throw ValidationError(
                "--existing fail cannot be combined with --atomic, which finds the files of earlier runs")
        }
        let path = destination.resolvingSymlinksInPath().path
        func isBelow(_ other: String) -> Bool { other == path || path == "/" || other.hasPrefix("\(path)/") }
        guard !isBelow(URL(fileURLWithPath: ".").resolvingSymlinksInPath().path) else {
            throw ValidationError("--atomic cannot replace the current directory, or a directory above it")
        }
        for (option, result) in [("--report", report), ("--failed", failureManifest)] {
            guard let result, result != "-" else { continue }
            let folder = URL(fileURLWithPath: result).deletingLastPathComponent().resolvingSymlinksInPath().path
            if isBelow(folder) {
                throw ValidationError("with --atomic, the file of \(option) cannot be in the directory of the files")
            }
        }
    }

    /// Whether two paths lead to the same regular file, or will do so once it exists.
    private static func isSameFile(_ first: String, _ second: String) -> Bool {
        first != "-" && place(first).map { $0 == place(second) } ?? false
    }

    /// Returns the identity of the regular file at a path, or the path if no file exists; nil for other files.
    private static func place(_ path: String) -> [String]? {
        let file = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: file.path) else {
            // The directory may exist, so that its links can be resolved.
            return [file.deletingLastPathComponent().resolvingSymlinksInPath().path, file.lastPathComponent]
        }
        guard attributes[.type] as? FileAttributeType == .typeRegular, let volume = attributes[.systemNumber],
            let number = attributes[.systemFileNumber]
        else { return nil }
        return ["\(volume)", "\(number)"]
    }

    /// The options that are given.
    private var givenOptions: [String] {
        let options: [(String, Bool)] = [
            ("-d", directory != nil), ("-o", output != nil), ("--base", base != nil),
            ("--directories", keepsDirectories), ("--cut-dirs", cutDirectoryCount != nil),
            ("--checksum", checksum != nil), ("--report", report != nil), ("--failed", failureManifest != nil),
            ("--atomic", isAtomic),
        ]
        return options.filter(\.1).map(\.0) + transfers.givenOptions + display.givenOptions
    }
}
