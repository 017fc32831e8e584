internal import Foundation

extension DownloadError {
    /// The numbers of the system that report that this device has no connection.
    ///
    /// A router reports `EHOSTUNREACH` for a single host as well, so that it says nothing about the connection.
    static let offlineNumbers: Set<Int32> = [ENETDOWN, ENETUNREACH]

    /// Returns whether an error reports that this device has no network connection, or none that may be used.
    static func meansOffline(_ error: (any Error)?) -> Bool {
        guard let error else { return false }
        if let error = error as? DownloadError { return error.isOffline }
        // As of `NSError`, to which errors aren't bridged in the same way on all platforms.
        switch error._domain {
        case NSPOSIXErrorDomain: return offlineNumbers.contains(Int32(clamping: error._code))
        case NSURLErrorDomain: return offlineCodes.contains(error._code)
        default: return false
        }
    }

    /// The codes of `URLError` for no connection, no data over the cellular network, no roaming, and a phone call.
    private static let offlineCodes: Set<Int> = [
        NSURLErrorNotConnectedToInternet, NSURLErrorDataNotAllowed, NSURLErrorInternationalRoamingOff,
        NSURLErrorCallIsActive,
    ]
}
