internal import Foundation

extension ResumeData {
    /// The positions of the bytes that the temporary file contains.
    var received: IntervalSet { IntervalSet(0..<receivedByteCount) }

    /// The representation that resume data describes; its length isn't known.
    ///
    /// - Parameter responseDate: The date of the response; see ``validator(responseDate:)``.
    func representation(responseDate: HTTPDate? = nil) -> Representation {
        Representation(
            finalURL: downloadURL.absoluteString, validator: validator(responseDate: responseDate),
            lastModified: lastModified)
    }

    /// The strong validator, or `nil` if the resume data contains none (rules 3 and 5).
    ///
    /// Resume data doesn't contain the date of the response, without which a modification date can't be known to be
    /// strong.
    ///
    /// - Parameter responseDate: The date of the response, if it is known from elsewhere, such as the creation date of
    ///   the temporary file.
    package func validator(responseDate: HTTPDate? = nil) -> Validator? {
        var fields: HeaderFields = [:]
        fields["ETag"] = entityTag
        fields["Last-Modified"] = lastModified
        fields["Date"] = responseDate?.headerValue
        return .strong(in: fields, receivedAt: responseDate)
    }
}
