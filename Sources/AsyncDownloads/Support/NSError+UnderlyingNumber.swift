internal import Foundation

extension NSError {
    /// The POSIX number of the error that has caused this one, if there is one.
    var underlyingNumber: Int? {
        var cause = userInfo[NSUnderlyingErrorKey] as? NSError
        // A chain of errors is short; the limit is for one that contains itself.
        for _ in 0..<8 {
            guard let present = cause else { return nil }
            if present.domain == NSPOSIXErrorDomain { return present.code }
            cause = present.userInfo[NSUnderlyingErrorKey] as? NSError
        }
        return nil
    }
}
