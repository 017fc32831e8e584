internal import Foundation

extension DownloadRequest {
    /// What makes the request unusable, found before anything is sent.
    var firstFault: DownloadError? {
        guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            return fault("only http and https URLs can be downloaded")
        }
        guard let host = url.host, !host.isEmpty else { return fault("the URL has no host") }
        if url.user != nil || url.password != nil {
            return fault("the URL contains credentials; send them in a header")
        }
        if let (name, reason) = headers.firstInvalidField() { return fault("header \(name): \(reason)") }
        if let reserved = headers.first(where: { HeaderFields.isReserved($0.name) }) {
            return fault("header \(reserved.name) is governed by the package")
        }
        if let checksum, !checksum.isWellFormed {
            return fault("a \(checksum.algorithm.rawValue) has \(checksum.algorithm.byteCount * 2) hexadecimal digits")
        }
        if checksum != nil, !RunningDigest.isAvailable {
            return DownloadError(.unsupported, "checksums on Linux need the trait ServerStack", url: url)
        }
        if let maximumByteCount, maximumByteCount < 0 { return fault("the maximum byte count is negative") }
        switch destination {
        case .file(let file):
            guard file.isFileURL, !file.hasDirectoryPath, !file.lastPathComponent.isEmpty else {
                return fault("the destination is no file URL")
            }
        case .directory(let directory):
            guard directory.isFileURL else { return fault("the destination is no file URL") }
        case .memory:
            break
        }
        return nil
    }

    private func fault(_ reason: String) -> DownloadError {
        DownloadError(.invalidRequest, reason, url: url)
    }
}
