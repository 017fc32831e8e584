#if canImport(Darwin) || LinuxURLSession || !ServerStack
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
    ///   - underlyingNumber: The POSIX number of the error that has caused this one, if there is one.
    ///   - cancellationReason: The number of the reason for which the system has canceled the task, if any.
    init(domain: String, code: Int, underlyingNumber: Int? = nil, cancellationReason: Int?, resumeData: Data?) {
        let reason: Reason
        switch (domain, code) {
        case (NSPOSIXErrorDomain, _):
            let kind: DownloadError.Code = Self.isDiskFull(code) ? .diskFull : .connectionLost
            reason = .transfer(DownloadError(kind, "errno \(code)"))
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
            let kind: DownloadError.Code = underlyingNumber.map(Self.isDiskFull) == true ? .diskFull : .storageFailure
            reason = .transfer(DownloadError(kind, "URLError \(code)"))
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

    private static func isDiskFull(_ number: Int) -> Bool { number == Int(ENOSPC) || number == Int(EDQUOT) }
}
#endif
