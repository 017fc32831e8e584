internal import Foundation

/// The form of the package's own records in the background: a line with a format and a CRC-32, and a JSON value.
///
/// A document that was torn, edited, or written by a version with another format is recognized.
enum CheckedDocument {
    /// The reason why bytes are not a document.
    enum Fault: Error, Hashable {
        case corrupt
        /// The format of another version of the package.
        case version(String)
    }

    /// Returns the bytes of a document.
    static func encode(_ value: some Encodable, kind: String, version: Int) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let body = [UInt8](try encoder.encode(value))
        return Array("async-downloads-\(kind) \(version) \(CRC32.digits(of: body))\n".utf8) + body
    }

    /// Returns the value of a document.
    static func decode<Value: Decodable>(
        _ type: Value.Type, from bytes: [UInt8], kind: String, version: Int
    ) throws(Fault) -> Value {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")), end < 200 else { throw .corrupt }
        let words = String(decoding: bytes[..<end], as: UTF8.self).split(separator: " ")
        guard words.count == 3, words[0] == "async-downloads-\(kind)" else { throw .corrupt }
        guard words[1] == "\(version)" else { throw .version(String(words[1])) }
        let body = bytes[(end + 1)...]
        guard words[2] == CRC32.digits(of: body) else { throw .corrupt }
        do {
            return try JSONDecoder().decode(type, from: Data(body))
        } catch {
            throw .corrupt
        }
    }
}

extension FileSystem {
    /// Replaces the file at `path` as a whole; a crash leaves the previous or the new contents.
    ///
    /// - Parameter isSynced: Whether the contents also survive a loss of power.
    func replaceContents(of path: String, by bytes: [UInt8], isSynced: Bool) throws(FileFailure) {
        let temporary = "\(path).new"
        try remove(temporary)
        let file = try open(temporary, .new)
        let written = Result { () throws(FileFailure) in
            try write(bytes, to: file, at: 0)
            if isSynced { try synchronize(file) }
        }
        close(file)
        do throws(FileFailure) {
            try written.get()
            try rename(temporary, to: path)
        } catch {
            try? remove(temporary)
            throw error
        }
        if isSynced { try synchronizeDirectory(PartialNames.directory(of: path)) }
    }

    /// Returns the contents of the file at `path`, which must be a regular file of at most `limit` bytes.
    func contents(of path: String, limit: Int) throws(FileFailure) -> [UInt8] {
        let file = try open(path, .reading)
        defer { close(file) }
        let information = try information(of: file)
        guard information.kind == .regular, information.size <= limit else {
            throw FileFailure(
                .other, errno: 0, operation: "read", name: file.name, reason: "not a file of this package")
        }
        return try contents(of: file, count: Int(information.size))
    }

    /// Creates a directory and the missing directories above it.
    func makeDirectories(_ path: String) throws(FileFailure) {
        guard try information(at: path) == nil else { return }
        let parent = PartialNames.directory(of: path)
        if parent != path { try makeDirectories(parent) }
        do {
            try makeDirectory(path)
        } catch let error where error.kind == .exists {
            // Another thread or process was faster.
        }
    }
}
