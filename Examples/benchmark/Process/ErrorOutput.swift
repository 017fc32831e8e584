#if ServerStack
internal import Foundation

/// Standard error, led into a file for a while: there the runtime says what was done wrong with continuations.
///
/// A file, and not a pipe, since what is said last before a crash must not be lost.
struct ErrorOutput: Sendable {
    private let original: Int32
    private let file: URL

    /// Leads it into `file` until ``restore()``.
    init(into file: URL) throws {
        let descriptor = open(file.path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
        defer { close(descriptor) }
        original = dup(2)
        dup2(descriptor, 2)
        self.file = file
    }

    /// Leads it back, and answers what was written meanwhile.
    func restore() throws -> String {
        dup2(original, 2)
        close(original)
        return try String(contentsOf: file, encoding: .utf8)
    }
}
#endif
