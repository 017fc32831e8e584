internal import Foundation

/// The names and passwords in a `.netrc` file, by host (`--netrc`).
struct Netrc: Sendable, Hashable {
    /// A name and a password.
    struct Login: Sendable, Hashable {
        var name = ""
        var password = ""

        /// The value of the Authorization header (RFC 7617).
        var basicCredentials: String { "Basic " + Data("\(name):\(password)".utf8).base64EncodedString() }
    }

    private var logins: [String: Login] = [:]
    /// The login of hosts that the file doesn't name.
    private var fallback: Login?

    /// Reads the file that the variable NETRC names, or `.netrc` in the home directory.
    init(environment: [String: String]) throws(Misuse) {
        let named = environment["NETRC"].flatMap { $0.isEmpty ? nil : $0 }
        let home = environment["HOME"] ?? NSHomeDirectory()
        let file = try TextFile(named ?? URL(fileURLWithPath: home).appending(path: ".netrc").path)
        do throws(Misuse) {
            try self.init(file.text)
        } catch {
            throw file.misuse(error.description)
        }
    }

    /// Parses the text of a file.
    init(_ text: String) throws(Misuse) {
        var tokens = Tokens(text)
        /// The host of the current entry; nil for `default`.
        var host: String?
        var login: Login?
        func close(_ logins: inout [String: Login], _ fallback: inout Login?) {
            guard let login else { return }
            if let host {
                // The first entry of a host counts.
                if logins[host] == nil { logins[host] = login }
            } else if fallback == nil {
                fallback = login
            }
        }
        while let token = tokens.nextKeyword() {
            switch token {
            case "machine":
                close(&logins, &fallback)
                guard let name = tokens.next() else { throw Misuse("machine needs the name of a host") }
                (host, login) = (name.lowercased(), Login())
            case "default":
                close(&logins, &fallback)
                (host, login) = (nil, Login())
            case "login", "password", "account":
                guard let value = tokens.next() else { throw Misuse("\(token) needs a value") }
                guard login != nil else { throw Misuse("\(token) needs a machine above it") }
                if token == "login" { login?.name = value }
                if token == "password" { login?.password = value }
            case "macdef": tokens.skipMacro()
            default: throw Misuse("unknown word; the words are machine, default, login, password, account, and macdef")
            }
        }
        close(&logins, &fallback)
    }

    /// Returns the login for exactly this host, or the one of `default`.
    func login(for url: URL) -> Login? {
        url.host().flatMap { logins[$0.lowercased()] } ?? fallback
    }
}

/// The words of a `.netrc` file, which may be quoted.
private struct Tokens {
    private var rest: Substring.UnicodeScalarView

    init(_ text: String) {
        rest = text[...].unicodeScalars
    }

    /// Returns the next word that isn't in a comment.
    mutating func nextKeyword() -> String? {
        rest = rest.drop { $0.properties.isWhitespace }
        while rest.first == "#" {
            rest = rest.drop { $0 != "\n" }.drop { $0.properties.isWhitespace }
        }
        return next()
    }

    /// Returns the next word, which may begin with a number sign.
    mutating func next() -> String? {
        rest = rest.drop { $0.properties.isWhitespace }
        guard let first = rest.first else { return nil }
        guard first == "\"" else {
            let word = rest.prefix { !$0.properties.isWhitespace }
            rest = rest[word.endIndex...]
            return String(word)
        }
        rest = rest.dropFirst()
        var word = String.UnicodeScalarView()
        while let scalar = rest.popFirst(), scalar != "\"" {
            word.append(scalar == "\\" ? rest.popFirst() ?? scalar : scalar)
        }
        return String(word)
    }

    /// Skips the definition of a macro, which ends with an empty line.
    mutating func skipMacro() {
        let text = String(rest)
        let end = text.firstRange(of: "\n\n") ?? text.firstRange(of: "\r\n\r\n")
        rest = end.map { text[$0.upperBound...].unicodeScalars } ?? ""[...].unicodeScalars
    }
}
