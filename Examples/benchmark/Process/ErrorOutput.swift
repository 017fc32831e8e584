internal import Foundation

/// A redirection of standard error, to which the runtime reports the misuse of continuations, into a file.
///
/// The target is a file and not a pipe, so that a crash cannot lose the last message.
struct ErrorOutput: Sendable {
    private let original: Int32
    private let file: URL

    /// Redirects standard error into `file` until ``restore()`` is called.
    init(into file: URL) throws {
        let descriptor = open(file.path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
        defer { close(descriptor) }
        original = dup(2)
        dup2(descriptor, 2)
        self.file = file
    }

    /// Restores standard error, and returns what was written to the file.
    func restore() throws -> String {
        dup2(original, 2)
        close(original)
        return try String(contentsOf: file, encoding: .utf8)
    }
}
