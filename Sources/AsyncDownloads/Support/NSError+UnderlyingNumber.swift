internal import Foundation

extension NSError {
    /// The POSIX number of the error that has caused this one, if there is one.
    var underlyingNumber: Int? {
        var cause = userInfo[NSUnderlyingErrorKey] as? NSError
        // The limit ends a chain in which an error contains itself; other chains are short.
        for _ in 0..<8 {
            guard let present = cause else { return nil }
            if present.domain == NSPOSIXErrorDomain { return present.code }
            cause = present.userInfo[NSUnderlyingErrorKey] as? NSError
        }
        return nil
    }
}
