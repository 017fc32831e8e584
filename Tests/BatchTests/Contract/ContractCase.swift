internal import LoopbackServer
internal import Testing

/// A run of the executable, and its expected effects.
///
/// In the arguments, the files, and the expected texts, `SERVER` stands for the URL of a server, `DEAD` for one at which nothing
/// listens, and `SHA:NAME` for the SHA-256 digest of the resource `NAME`.
struct ContractCase: Sendable, CustomTestStringConvertible {
    /// The description of the case.
    let testDescription: String
    /// The arguments, separated by single spaces.
    let arguments: String
    /// Standard input.
    var input = ""
    /// The files in the working directory before the run.
    var files: [String: String] = [:]
    var environment: [String: String] = [:]
    /// The scripts of the server's resources; those that aren't named always answer with their content.
    var scripts: [String: [Step]] = [:]
    var status: Int32 = 0
    /// Texts that standard output contains.
    var output: [String] = []
    /// Texts that standard error contains.
    var error: [String] = []
    /// Texts that neither standard output nor standard error contains.
    var absent: [String] = ["s3cret"]
    /// The files after the run besides those before it, with the names of the resources that they contain.
    var results: [String: String] = [:]
    /// Texts that files contain after the run, besides ``results``.
    var texts: [String: [String]] = [:]
    /// The header fields that the first request for a resource has; nil for none with the name.
    var requests: [String: [String: String?]] = [:]

    init(_ testDescription: String, _ arguments: String) {
        (self.testDescription, self.arguments) = (testDescription, arguments)
    }

    /// Returns the case with changes.
    func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }

    /// Returns a case of wrong usage, in which nothing is requested.
    static func misuse(_ testDescription: String, _ arguments: String, _ words: String...) -> Self {
        Self(testDescription, arguments).with {
            $0.status = 64
            $0.error = ["Error: "] + words
        }
    }
}
