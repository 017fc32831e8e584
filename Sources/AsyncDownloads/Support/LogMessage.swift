/// A message for the operator of a program, for example about discarded bytes.
///
/// It contains no secrets: neither header values nor the user, the query, or the fragment of a URL.
public struct LogMessage: Sendable, Hashable, CustomStringConvertible {
    /// The importance of a message.
    public enum Level: Sendable, Hashable, CaseIterable {
        /// An event in the normal course of a download.
        case debug
        /// An event that had a cost, such as a failure or discarded bytes.
        case notice
    }

    /// The importance of the message.
    public var level: Level

    /// A description of the event, without the names of hosts and files.
    public var text: String

    /// The description of the error that is the reason, which may contain the names of hosts and files.
    public var error: String?

    /// The scheme, host, port, and path of the download's URL.
    public var url: String?

    /// Creates a message.
    public init(_ text: String, level: Level = .notice, error: String? = nil, url: String? = nil) {
        (self.text, self.level, self.error, self.url) = (text, level, error, url)
    }

    /// All parts in one line.
    public var description: String { text + details }

    /// The parts that may contain the names of hosts and files.
    var details: String { (error.map { ": \($0)" } ?? "") + (url.map { " [\($0)]" } ?? "") }
}
