internal import Foundation
internal import TestSupport
internal import Testing

/// Tests that compare the layers of `Design.md` with the types that each source file uses.
@Suite(.endsWhenHung)
struct LayerTests {
    /// The layers from the lowest to the highest.
    ///
    /// A file uses only types of the same layer and of lower layers.
    enum Layer: Int, Comparable {
        /// Types that are independent of downloads, such as locks, logs, and random numbers.
        case support
        /// HTTP without effects, and the values that users create and receive.
        case values
        /// The ports to external systems, and their adapters.
        case ports
        /// The work of fetching one resource.
        case transfer
        /// The API that users call.
        case facade

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

        /// Returns the layer of a file, by its path below the sources.
        init(_ path: String) {
            let components = path.split(separator: "/").map(String.init)
            let name = components.last ?? path
            switch components.first {
            case "Support": self = .support
            case "HTTP", "Policies": self = .values
            case "Resuming":
                let isPort = name.hasSuffix("+Importing.swift") || name.hasSuffix("+TemporaryFile.swift")
                self = isPort || name.hasPrefix("Partial") ? .ports : .values
            case "Background": self = components.contains("Internal") ? .ports : .values
            case "Transport", "Storage", "MemoryPressure", "Time": self = .ports
            case "Transfer":
                let isOfBatch = ["BatchWindow.swift", "BatchRoom.swift", "HeldUpDownloads.swift"].contains(name)
                self = isOfBatch ? .facade : .transfer
            default:
                let isFacade = name.hasPrefix("Downloader") || name.hasPrefix("Download+")
                self = isFacade || Self.facadeFiles.contains(name) ? .facade : .values
            }
        }

        private static let facadeFiles: Set = [
            "Download.swift", "DownloadBatch.swift", "DownloadItem.swift", "DownloadList.swift",
            "StagedDirectory.swift",
        ]
    }

    private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources/AsyncDownloads")

    /// Returns the paths of the source files.
    private static func paths() throws -> [String] {
        let files = try #require(FileManager.default.enumerator(atPath: sources.path))
        return files.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }
    }

    /// Returns the source files by path, without comments and string literals.
    private static func code() throws -> [String: String] {
        var code: [String: String] = [:]
        for path in try paths() {
            let text = try String(contentsOf: sources.appending(path: path), encoding: .utf8)
            code[path] = text.replacing(/(?m)(^|\s)\/\/.*$/, with: "").replacing(/"(?:\\.|[^"\\\n])*"/, with: "\"\"")
        }
        return code
    }

    @Test func `no file uses a type of a higher layer`() throws {
        let code = try Self.code()
        let declaration =
            /(?m)^(?:@\w+(?:\([^)]*\))? )*(?:(?:public|package|internal) )?(?:final |indirect )*(?:struct|class|enum|protocol|actor|typealias) (\w+)/
        // Types of several platforms are declared several times.
        var layers: [Substring: Layer] = [:]
        for (path, text) in code {
            for match in text.matches(of: declaration) {
                layers[match.1] = min(layers[match.1] ?? .facade, Layer(path))
            }
        }
        #expect(layers.count > 150, "the pattern has to find the declarations")
        for (path, text) in code.sorted(by: { $0.key < $1.key }) {
            // A configuration is a value that users create, although its name is nested in a type of the facade.
            let text = text.replacing("Downloader.Configuration", with: "")
            let used = Set(text.matches(of: /(?:^|[^.\w])([A-Z]\w*)/).map(\.1))
            let wrong = used.filter { name in layers[name].map { $0 > Layer(path) } ?? false }
            #expect(wrong.sorted() == [], "\(path)")
        }
    }

    @Test func `file names are unique`() throws {
        let names = try Self.paths().compactMap { $0.split(separator: "/").last }
        #expect(Set(names).count == names.count)
    }
}
