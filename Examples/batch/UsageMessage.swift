#if ServerStack
internal import AsyncDownloads
internal import Foundation

/// The message for a command line that cannot be understood.
///
/// The parser repeats what it was given. That may be a password, a signed URL or a header's value, and standard error
/// often ends in a log, so nothing is repeated but the names of options, and URLs without their secrets.
struct UsageMessage: Sendable, Hashable, CustomStringConvertible {
    let description: String

    /// Makes the message of the parser's error fit for a log.
    ///
    /// - Parameter arguments: The command line that led to `message`, without the command's name.
    init(_ message: String, arguments: [String]) {
        var text = message
        let pieces = Set(arguments.flatMap { Self.pieces(of: $0) }).subtracting(Self.choices)
        for piece in pieces.sorted(by: { $0.utf8.count > $1.utf8.count }) {
            text = text.replacing("'\(piece)'", with: "'\(Self.shown(piece))'")
        }
        text = text.replacing("The value '\(Self.hidden)' is invalid", with: "The value is invalid")
        // Text that the parser repeats without quotes cannot be distinguished from its own words.
        let isTold = pieces.contains { Self.mayBeSecret($0) && text.contains($0) }
        description = isTold ? "Error: an option or an argument cannot be understood\n  See 'batch --help'." : text
    }

    private static let hidden = "…"

    /// The words that the parser itself lists.
    private static let choices = Set(
        Engine.allCases.map(\.rawValue) + DurabilityName.allCases.map(\.rawValue) + InUseName.allCases.map(\.rawValue))

    /// What the parser may repeat of an argument: all of it, or the option or the value of `--option=value`.
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

    /// Whether a text has the form of a long option's name, as a misspelled one has.
    private static func isName(_ text: String) -> Bool {
        text.hasPrefix("--") && text.utf8.allSatisfy { (97...122).contains($0) || $0 == UInt8(ascii: "-") }
    }

    private static func mayBeSecret(_ piece: String) -> Bool {
        piece.utf8.count >= 4 && shown(piece) != piece && !piece.utf8.allSatisfy { (48...57).contains($0) }
            && !piece.utf8.allSatisfy { (97...122).contains($0) || (65...90).contains($0) || $0 == UInt8(ascii: "-") }
    }
}
#endif
