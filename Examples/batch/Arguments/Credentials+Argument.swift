internal import AsyncDownloads
internal import Foundation

extension TrustRoots {
    /// Reads the file that the value of `--ca-file` names.
    init(argument path: String) throws(Misuse) {
        self = try Misuse.replacing { () throws(DownloadError) in try Self(pemFile: URL(fileURLWithPath: path)) }
    }
}

extension ClientIdentity {
    /// Reads the file that the value of `--client-certificate` names.
    init(argument path: String) throws(Misuse) {
        self = try Misuse.replacing { () throws(DownloadError) in try Self(certificateFile: URL(fileURLWithPath: path))
        }
    }
}

extension Misuse {
    /// Returns the result of `body`, and turns an error of the library into an error in the user's input.
    fileprivate static func replacing<Value>(_ body: () throws(DownloadError) -> Value) throws(Misuse) -> Value {
        do {
            return try body()
        } catch {
            throw Misuse(error.detail)
        }
    }
}
