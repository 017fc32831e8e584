internal import AsyncDownloads
internal import Foundation

/// An error message for an invalid command line.
///
/// The parser's messages repeat arguments, which may be passwords, signed URLs, or header values, and standard error
/// often leads to a log. This message repeats only names of options, and URLs without their secrets.
struct UsageMessage: Sendable, Hashable, CustomStringConvertible {
    let description: String

    /// Creates a message that is safe to log from a message of the parser.
    ///
    /// - Parameters:
    ///   - message: The message of the parser.
    ///   - arguments: The command line that led to `message`, without the command's name.
    ///   - options: The names of all options, with their hyphens.
    ///   - command: The command, with its subcommand.
    init(_ message: String, arguments: [String], options: Set<String> = [], command: String = "batch") {
        let hint = "See '\(command) --help'."
        if let unknown = UnknownOption(in: arguments, options: options) {
            description = "Error: \(unknown)\n  \(hint)"
            return
        }
        var text = message
        let pieces = Set(arguments.flatMap { Self.pieces(of: $0) }).subtracting(Self.choices)
        for piece in pieces.sorted(by: { $0.utf8.count > $1.utf8.count }) {
            text = text.replacing("'\(piece)'", with: "'\(Self.shown(piece))'")
        }
        text = text.replacing("The value '\(Self.hidden)' is invalid", with: "The value is invalid")
        // A piece that the parser repeats without quotes cannot be distinguished from the parser's own words.
        let repeatsSecret = pieces.contains { Self.mayBeSecret($0) && text.contains($0) }
        description =
            repeatsSecret ? "Error: an option or an argument is invalid\n  \(hint)" : text
    }

    private static let hidden = "…"

    /// The values that the parser lists in its messages.
    private static let choices = Set(
        Engine.allCases.map(\.rawValue) + DurabilityName.allCases.map(\.rawValue) + InUseName.allCases.map(\.rawValue)
            + ExistingName.allCases.map(\.rawValue))

    /// Returns what the parser may repeat of an argument: all of it, or the option or the value of `--option=value`.
    private static func pieces(of argument: String) -> [String] {
        guard argument.hasPrefix("-"), let equals = argument.firstIndex(of: "=") else { return [argument] }
        return [argument, String(argument[..<equals]), String(argument[argument.index(after: equals)...])]
    }

    private static func shown(_ piece: String) -> String {
        if isName(piece) { return piece }
        // A value may follow a short option without a space: -uNAME:PASSWORD.
        if piece.hasPrefix("-"), !piece.hasPrefix("--"), let letter = piece.dropFirst().first {
            return piece.count == 2 ? piece : "-\(letter)\(hidden)"
        }
        guard let url = URL(string: piece)?.redacted, url.contains("://"), !url.contains("@") else { return hidden }
        return url
    }

    /// Returns whether a text has the form of a long option's name, so that a misspelled option can be shown.
    static func isName(_ text: String) -> Bool {
        text.hasPrefix("--") && text.utf8.allSatisfy { (97...122).contains($0) || $0 == UInt8(ascii: "-") }
    }

    private static func mayBeSecret(_ piece: String) -> Bool {
        piece.utf8.count >= 4 && shown(piece) != piece && !piece.utf8.allSatisfy { (48...57).contains($0) }
            && !piece.utf8.allSatisfy { (97...122).contains($0) || (65...90).contains($0) || $0 == UInt8(ascii: "-") }
    }
}
