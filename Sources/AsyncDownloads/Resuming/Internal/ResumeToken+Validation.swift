internal import Foundation

extension ResumeToken {
    /// The reason why the token is invalid, without its values, or `nil` if it is valid.
    var validationError: String? {
        for url in [url, finalURL].compactMap(\.self) {
            guard Origin(url) != nil else { return "a URL is not an http or https URL" }
            guard url.user == nil, url.password == nil else { return "a URL contains credentials" }
        }
        if let validator, Validator(rawValue: validator) == nil { return "the validator is not a strong validator" }
        guard 0...FieldScanner.maximumNumber ~= received.upperBound, received.upperBound <= totalByteCount ?? .max,
            0...FieldScanner.maximumNumber ~= totalByteCount ?? 0
        else { return "the ranges do not fit into the length" }
        if let checksum, !checksum.isWellFormed { return "the checksum is malformed" }
        if let fault = headers.firstFieldFault { return fault }
        if let destinationName, !destinationName.isBareFileName { return "the destination's name is not a file name" }
        if identity?.isEmpty == true { return "the identity is empty" }
        if account?.isEmpty == true { return "the account is empty" }
        guard partialName.isBareFileName else { return "the partial file's name is not a file name" }
        guard partialDirectory.isPlainRelativePath else {
            return "the partial file's directory is not a valid relative path"
        }
        return nil
    }
}
