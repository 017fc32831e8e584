internal import Foundation

extension ResumeToken {
    /// What makes a token impossible, in words that reveal nothing of what it says.
    var validationError: String? {
        for url in [url, finalURL].compactMap(\.self) {
            guard Origin(url) != nil else { return "a URL is none of http or https" }
            guard url.user == nil, url.password == nil else { return "a URL contains credentials" }
        }
        if let validator, Validator(rawValue: validator) == nil { return "the validator is no strong one" }
        guard 0...FieldScanner.maximumNumber ~= received.upperBound, received.upperBound <= totalByteCount ?? .max,
            0...FieldScanner.maximumNumber ~= totalByteCount ?? 0
        else { return "the ranges do not fit into the length" }
        if let checksum, !checksum.isWellFormed { return "the checksum is malformed" }
        if let fault = headers.firstFieldFault { return fault }
        if let destinationName, !destinationName.isBareFileName { return "the destination's name is no bare name" }
        if identity?.isEmpty == true { return "the identity is empty" }
        if account?.isEmpty == true { return "the account is empty" }
        guard partialName.isBareFileName else { return "the partial file's name is no bare name" }
        guard partialDirectory.isPlainRelativePath else { return "the partial file's directory is not below another" }
        return nil
    }
}
