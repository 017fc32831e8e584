/// The verdict on one program's download from one bad server.
enum FaultVerdict: String, Sendable, Hashable, Codable, CaseIterable {
    /// The program reported success, and the file has the right bytes.
    case rightFile = "right file"
    /// The program reported an error, and the server offered no file.
    case rightError = "right error"
    /// The program reported success, but the file is absent or has other bytes.
    case wrongFile = "WRONG FILE"
    /// The program reported an error in each run, although the right file could be downloaded.
    case failure = "failed"
    /// The program was still running at the time limit.
    case hang = "hung"

    /// Judges the last run of a program.
    ///
    /// - Parameters:
    ///   - status: The exit status; nil if the program was ended at the time limit.
    ///   - hasRightFile: Whether a file with the right bytes is at the destination.
    ///   - expectsFile: Whether the server offers the file.
    init(status: Int32?, hasRightFile: Bool, expectsFile: Bool) {
        switch status {
        case nil: self = .hang
        case 0: self = hasRightFile ? .rightFile : .wrongFile
        default: self = expectsFile ? .failure : .rightError
        }
    }

    /// Whether the program did what a user can expect.
    var isRight: Bool { self == .rightFile || self == .rightError }
}
