internal import Foundation

extension ResumeData {
    /// The bytes that the temporary file holds.
    package var received: IntervalSet { IntervalSet(0..<receivedByteCount) }

    /// What the server has said of the object, as far as resume data keeps it: the complete length is not known.
    ///
    /// - Parameter responseDate: See ``validator(responseDate:)``.
    package func representation(responseDate: HTTPDate? = nil) -> Representation {
        Representation(
            finalURL: downloadURL.absoluteString, validator: validator(responseDate: responseDate),
            lastModified: lastModified)
    }

    /// The strong validator; nil where there is none, and the bytes prove nothing (rules 3 and 5).
    ///
    /// Resume data does not say when the response was made, without which a date cannot be known to be strong.
    /// - Parameter responseDate: When the response was made, where something else tells it, such as the time at which
    ///   the temporary file came into being.
    package func validator(responseDate: HTTPDate? = nil) -> Validator? {
        var fields: HeaderFields = [:]
        fields["ETag"] = entityTag
        fields["Last-Modified"] = lastModified
        fields["Date"] = responseDate?.headerValue
        return .strong(in: fields, receivedAt: responseDate)
    }
}
