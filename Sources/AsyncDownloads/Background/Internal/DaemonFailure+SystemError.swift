internal import Foundation

extension DaemonFailure {
    /// Creates the failure that an error of the system's transfer service describes.
    ///
    /// The error isn't always a `URLError`: a full disk is reported by its POSIX number. The resume data and the reason
    /// of a cancellation are in the user information in any case.
    ///
    /// - Parameters:
    ///   - domain: The domain of the error.
    ///   - code: The code of the error in its domain.
    ///   - cancellationReason: The number of the reason for which the system has canceled the task, if any.
    init(domain: String, code: Int, cancellationReason: Int?, resumeData: Data?) {
        let reason: Reason
        switch (domain, code) {
        case (NSPOSIXErrorDomain, _):
            let number = Int32(truncatingIfNeeded: code)
            reason =
                number == ENOSPC || number == EDQUOT
                ? .transfer(DownloadError(.diskFull, "errno \(number)"))
                : .transfer(DownloadError(.connectionLost, "errno \(number)"))
        case (NSURLErrorDomain, NSURLErrorCancelled):
            switch cancellationReason {
            case 0: reason = .userForceQuit
            case 1: reason = .backgroundUpdatesDisabled
            case 2: reason = .insufficientResources
            default: reason = .cancelled
            }
        case (NSURLErrorDomain, NSURLErrorBackgroundSessionInUseByAnotherProcess):
            reason = .transfer(DownloadError(.sessionInUse, "another process uses the session", isRetryable: true))
        case (NSURLErrorDomain, NSURLErrorCannotCreateFile), (NSURLErrorDomain, NSURLErrorCannotWriteToFile),
            (NSURLErrorDomain, NSURLErrorCannotOpenFile), (NSURLErrorDomain, NSURLErrorCannotMoveFile):
            reason = .transfer(DownloadError(.storageFailure, "URLError \(code)"))
        case (NSURLErrorDomain, _):
            // Linux knows only the codes that it has names for.
            let known: URLError.Code? = URLError.Code(rawValue: code)
            if case .failed(let error) = ExchangeEnd(URLError(known ?? .unknown), hasHead: false) {
                reason = .transfer(error)
            } else {
                reason = .cancelled
            }
        default:
            reason = .transfer(DownloadError(.connectionLost, "\(domain) \(code)"))
        }
        self.init(reason, resumeData: resumeData)
    }
}
