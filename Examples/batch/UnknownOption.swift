/// A long option that doesn't exist, with the one that was probably meant.
struct UnknownOption: Sendable, Hashable, CustomStringConvertible {
    /// The largest number of wrong letters in a name for which another one is suggested.
    private static let mostEdits = 3

    private let name: String
    private let suggestion: String?

    var description: String {
        "unknown option \(name)" + (suggestion.map { "; did you mean \($0)?" } ?? "")
    }

    /// Finds the first one in a command line; nil if there is none.
    ///
    /// - Parameters:
    ///   - arguments: The command line, without the name of the command.
    ///   - options: The names of all options, with their hyphens.
    init?(in arguments: [String], options: Set<String>) {
        let names = arguments.prefix { $0 != "--" }.map { String($0.prefix { $0 != "=" }) }
        // Anything else may be a secret that was put in the wrong place.
        let unknown = names.first { UsageMessage.isName($0) && !options.contains($0) }
        guard !options.isEmpty, let unknown else { return nil }
        name = unknown
        let candidates = options.filter { $0.hasPrefix("--") }.sorted()
            .map { (name: $0, distance: Self.distance(Array($0.utf8), Array(unknown.utf8))) }
        suggestion = candidates.filter { $0.distance <= Self.mostEdits }.min { $0.distance < $1.distance }?.name
    }

    /// The number of letters to insert, remove, or replace that make one text the other (Levenshtein).
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let replaced = diagonal + (right[column] == letter ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
            }
        }
        return row[right.count]
    }
}
