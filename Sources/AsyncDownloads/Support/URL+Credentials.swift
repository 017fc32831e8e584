internal import Foundation

/// The user name and the password of a URL, as the value of `Authorization` (RFC 7617).
struct URLCredentials: Sendable, Hashable {
    /// The value of the field; nil if the user name or the password can't be sent.
    let basic: String?

    /// - Parameters:
    ///   - user: The user name with its percent escapes.
    ///   - password: The password with its percent escapes; nil for an empty one.
    fileprivate init(user: String, password: String?) {
        guard let user = user.removingPercentEncoding, let password = (password ?? "").removingPercentEncoding,
            // The colon ends the user name, and neither part contains control characters (RFC 7617, 2).
            !user.utf8.contains(UInt8(ascii: ":")),
            !(user + password).unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            basic = nil
            return
        }
        basic = "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    }
}

extension URL {
    /// Returns the URL without user information, and the credentials that it contains, if any.
    func separatingCredentials() -> (url: URL, credentials: URLCredentials?) {
        if absoluteStringInNormalForm != nil { return (self, nil) }
        guard var components = URLComponents(url: self, resolvingAgainstBaseURL: true),
            components.percentEncodedUser != nil || components.percentEncodedPassword != nil,
            let scheme = components.scheme?.asciiLowercased(), scheme == "http" || scheme == "https"
        else { return (self, nil) }
        let (user, password) = (components.percentEncodedUser ?? "", components.percentEncodedPassword)
        (components.percentEncodedUser, components.percentEncodedPassword) = (nil, nil)
        guard let url = components.url, url.user == nil, url.password == nil else { return (self, nil) }
        return (url, user.isEmpty && password == nil ? nil : URLCredentials(user: user, password: password))
    }
}
