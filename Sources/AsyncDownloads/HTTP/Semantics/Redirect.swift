package import Foundation

/// Where a redirect leads, and whether to go there (RFC 9110, 15.4).
package enum Redirect {
    /// Why a redirect is not followed.
    package enum Refusal: Error, Sendable, Hashable {
        /// There is no `Location`, or it is not a URL with a host.
        case missingOrMalformed
        /// The target is neither http nor https; the scheme is in lower case.
        case schemeNotAllowed(String)
        /// The target is http, and the redirect came over https.
        case insecureDowngrade
        /// The target has a user name or a password in it.
        case credentialsInURL
    }

    /// The absolute URL to go to, without fragment.
    /// - Parameters:
    ///   - location: The value of the `Location` field (RFC 9110, 10.2.2), absolute or relative.
    ///   - current: The absolute URL that answered with the redirect.
    package static func target(location: String?, relativeTo current: URL) -> Result<URL, Refusal> {
        guard let text = location?.trimmingFieldWhitespace(), !text.isEmpty,
            !text.utf8.contains(where: \.isForbiddenInFieldValue),
            let resolved = URL(string: String(text), relativeTo: current)?.absoluteURL,
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
