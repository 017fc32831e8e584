internal import ArgumentParser
internal import AsyncDownloads
internal import Foundation

extension Batch {
    /// Whether the command has no arguments, so that the demonstration runs.
    var isDemonstration: Bool { !namesDownloads && cleaned == nil && givenOptions.isEmpty }

    private var namesDownloads: Bool { !urls.isEmpty || input != nil || checksums != nil }

    /// Rejects invalid options and combinations; errors in a manifest are found when it is read.
    func validate() throws {
        if let cutDirectoryCount {
            guard keepsDirectories else { throw ValidationError("--cut-dirs requires --directories") }
            guard cutDirectoryCount >= 0 else { throw ValidationError("--cut-dirs requires a number of at least 0") }
        }
        if checksums != nil, base == nil { throw ValidationError("--checksums requires --base, the URL of its files") }
        if base != nil, input == nil, checksums == nil {
            throw ValidationError("--base requires a manifest (-i) or --checksums")
        }
        if input == "-", checksums == "-" {
            throw ValidationError("-i and --checksums cannot both read standard input")
        }
        let manifests = [input, checksums].compactMap { $0 }
        for (option, result) in [("--report", report), ("--failed", failureManifest)] {
            guard let result, manifests.contains(where: { Self.isSameFile($0, result) }) else { continue }
            throw ValidationError("the file of \(option) is read as a manifest, so it cannot be written at the end")
        }
        if cleaned != nil {
            guard !namesDownloads, Set(givenOptions).isSubset(of: ["--json", "-q", "--no-progress"]) else {
                throw ValidationError("--clean cannot be combined with downloads or their options")
            }
        } else if !namesDownloads {
            guard let option = givenOptions.first else { return }
            throw ValidationError("\(option) was given, but nothing to download: add URLs, or a manifest with -i")
        }
        guard urls.count == 1, input == nil, checksums == nil else {
            if output != nil { throw ValidationError("-o requires a single URL; in a manifest, use out= for each URL") }
            if checksum != nil {
                throw ValidationError("--checksum requires a single URL; in a manifest, use checksum= for each URL")
            }
            return
        }
    }

    /// Whether two paths lead to the same regular file.
    private static func isSameFile(_ first: String, _ second: String) -> Bool {
        func identity(_ path: String) -> [NSNumber]? {
            let attributes = try? FileManager.default.attributesOfItem(
                atPath: URL(fileURLWithPath: path).resolvingSymlinksInPath().path)
            guard let attributes, attributes[.type] as? FileAttributeType == .typeRegular else { return nil }
            return [attributes[.systemNumber], attributes[.systemFileNumber]].compactMap { $0 as? NSNumber }
        }
        return first != "-" && identity(first).map { $0 == identity(second) } ?? false
    }

    /// The options that are given.
    private var givenOptions: [String] {
        let options: [(String, Bool)] = [
            ("-d", directory != nil), ("-o", output != nil), ("--base", base != nil),
            ("--directories", keepsDirectories), ("--cut-dirs", cutDirectoryCount != nil),
            ("--checksum", checksum != nil), ("--report", report != nil), ("--failed", failureManifest != nil),
        ]
        return options.filter(\.1).map(\.0) + transfers.givenOptions + display.givenOptions
    }
}
