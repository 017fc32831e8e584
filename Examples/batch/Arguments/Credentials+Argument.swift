internal import AsyncDownloads
internal import Foundation

extension TrustRoots {
    /// Reads the file that the value of `--ca-file` names.
    init(argument path: String) throws(Misuse) {
        do throws(DownloadError) {
            try self.init(pemFile: URL(fileURLWithPath: path))
        } catch {
            throw Misuse(error.detail)
        }
    }
}

extension ClientIdentity {
    /// Reads the file that the value of `--client-certificate` names.
    init(argument path: String) throws(Misuse) {
        do throws(DownloadError) {
            try self.init(certificateFile: URL(fileURLWithPath: path))
        } catch {
            throw Misuse(error.detail)
        }
    }
}
