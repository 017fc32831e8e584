package import Foundation

/// The rules that determine the target of a redirect and whether it is followed (RFC 9110, 15.4).
package enum Redirect {
    /// The reason why a redirect isn't followed.
    package enum Refusal: Error, Sendable, Hashable {
        /// The `Location` field is missing, or isn't a URL with a valid host and port.
        case missingOrMalformed
        /// The target has this scheme, in lower case, which is neither http nor https.
        case schemeNotAllowed(String)
        /// The target is an http URL, and the redirecting URL is an https URL.
        case insecureDowngrade
        /// The target contains a user name or a password.
        case credentialsInURL
    }

    /// Returns the absolute target URL of a redirect, without fragment, or the reason why the redirect isn't followed.
    ///
    /// - Parameters:
    ///   - location: The value of the `Location` field, absolute or relative (RFC 9110, 10.2.2).
    ///   - current: The absolute URL that responded with the redirect.
    package static func target(location: String?, relativeTo current: URL) -> Result<URL, Refusal> {
        guard let text = location?.trimmingFieldWhitespace(), !text.isEmpty,
            !text.utf8.contains(where: \.isForbiddenInFieldValue),
            let resolved = URL(encoding: text, relativeTo: current)?.absoluteURL,
            let scheme = resolved.scheme?.asciiLowercased()
        else { return .failure(.missingOrMalformed) }
        guard scheme == "http" || scheme == "https" else { return .failure(.schemeNotAllowed(scheme)) }
        guard let origin = Origin(resolved),
            var components = URLComponents(url: resolved, resolvingAgainstBaseURL: true)
        else { return .failure(.missingOrMalformed) }
        guard components.user == nil, components.password == nil else { return .failure(.credentialsInURL) }
        if origin.scheme == "http", current.scheme?.asciiLowercased() == "https" {
            return .failure(.insecureDowngrade)
        }
        components.fragment = nil
        return components.url.map(Result.success) ?? .failure(.missingOrMalformed)
    }
}
