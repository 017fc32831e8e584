internal import Foundation

extension DownloadError {
    /// The values of `errno` that report that this device has no network connection.
    ///
    /// `EHOSTUNREACH` isn't included: a router also reports it for a single host.
    static let offlineNumbers: Set<Int32> = [ENETDOWN, ENETUNREACH]

    /// Returns whether an error reports that this device has no network connection, or none that may be used.
    static func meansOffline(_ error: (any Error)?) -> Bool {
        guard let error else { return false }
        if let error = error as? DownloadError { return error.isOffline }
        // `_domain` and `_code` are used because bridging to `NSError` differs between platforms.
        switch error._domain {
        case NSPOSIXErrorDomain: return offlineNumbers.contains(Int32(clamping: error._code))
        case NSURLErrorDomain: return offlineCodes.contains(error._code)
        default: return false
        }
    }

    /// The codes of `URLError` for a missing connection: offline, cellular data not allowed, roaming off, and a phone
    /// call.
    private static let offlineCodes: Set<Int> = [
        NSURLErrorNotConnectedToInternet, NSURLErrorDataNotAllowed, NSURLErrorInternationalRoamingOff,
        NSURLErrorCallIsActive,
    ]
}
