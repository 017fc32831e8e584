internal import Foundation

#if ServerStack
internal import NIOSSL
#endif

extension Data {
    /// Reads a file of certificates or keys.
    ///
    /// - Parameters:
    ///   - file: The location of the file; errors don't contain it.
    ///   - code: The code of the error if the file can't be read.
    init(credentials file: URL, orThrow code: DownloadError.Code) throws(DownloadError) {
        do {
            try self.init(contentsOf: file)
        } catch {
            throw DownloadError(code, Self.reason(of: error))
        }
    }

    #if ServerStack
    /// Returns the certificates of a text in PEM format, at least one.
    ///
    /// - Parameter code: The code of the error if the text contains no certificate or an invalid one.
    func certificates(orThrow code: DownloadError.Code) throws(DownloadError) -> [NIOSSLCertificate] {
        guard !isEmpty else { throw DownloadError(code, "the text is empty") }
        do {
            return try NIOSSLCertificate.fromPEMBytes(Array(self))
        } catch {
            throw DownloadError(code, "not a valid list of certificates in PEM format", underlyingError: error)
        }
    }
    #endif

    // Only the reason is used, because the error and its description contain the path.
    private static func reason(of error: any Error) -> String {
        switch (error as? CocoaError)?.code {
        case .fileReadNoSuchFile?, .fileNoSuchFile?: "the file doesn't exist"
        case .fileReadNoPermission?: "permission to read the file is missing"
        default: "the file can't be read"
        }
    }
}
