internal import AsyncDownloads
internal import Foundation

/// A file of settings that an option names; errors name the file and the line.
struct TextFile: Sendable {
    private static let maximumByteCount = 16 << 20

    private let name: String
    /// The text of the file, which may contain secrets.
    let text: String

    init(_ path: String) throws(Misuse) {
        name = URL(fileURLWithPath: path).lastPathComponent
        let data: Data
        do {
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? file.close() }
            data = try file.read(upToCount: Self.maximumByteCount + 1) ?? Data()
        } catch {
            throw Misuse("\(name) cannot be read: \(error.localizedDescription)")
        }
        guard data.count <= Self.maximumByteCount else { throw Misuse("\(name) is too long") }
        guard var text = String(wellFormedUTF8: Array(data)) else { throw Misuse("\(name) is not valid UTF-8") }
        if text.unicodeScalars.first == "\u{FEFF}" { text.unicodeScalars.removeFirst() }
        self.text = text
    }

    /// Returns the results of `body` for each line, without its terminator and without spaces around it.
    func map<Value>(_ body: (String) throws(Misuse) -> Value?) throws(Misuse) -> [Value] {
        var values: [Value] = []
        for (index, line) in lines.enumerated() {
            do throws(Misuse) {
                if let value = try body(line) { values.append(value) }
            } catch {
                throw Misuse("\(name):\(index + 1): \(error)")
            }
        }
        return values
    }

    /// Returns whether a line satisfies a condition.
    func hasLines(where isIncluded: (String) -> Bool) -> Bool { lines.contains(where: isIncluded) }

    private var lines: [String] {
        text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            return String(decoding: line, as: UTF8.self).trimmingWhitespace()
        }
    }

    /// Returns an error in the file.
    func misuse(_ reason: String) -> Misuse { Misuse("\(name): \(reason)") }
}
