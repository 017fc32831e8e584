// The names that the snippets of the documentation use without declaring them; see .ci/snippets.

import AsyncDownloads
import Foundation

var url: URL { unavailable() }
var signedURL: URL { unavailable() }
var todaysURL: URL { unavailable() }
var mirror: URL { unavailable() }
var expiration: Date { unavailable() }
var destination: URL { unavailable() }
var directory: URL { unavailable() }
var savedFile: URL { unavailable() }
var certificateFile: URL { unavailable() }
var keyFile: URL { unavailable() }
var accessToken: String { unavailable() }

var downloader: Downloader { unavailable() }
var download: Download { unavailable() }
var requests: [DownloadRequest] { unavailable() }
var request: DownloadRequest {
    get { unavailable() }
    set {}
}
var configuration: Downloader.Configuration {
    get { unavailable() }
    set {}
}

/// Parts of the reader's own program.
let service = Service()
let session = Session()
let user = User()
let catalog = Catalog()
let library = Library()

struct Service: Sendable {
    func sign(_ path: String) async throws -> URL { unavailable() }
}

struct Session: Sendable {
    func token(isExpired: Bool) async throws -> String { unavailable() }
}

struct User: Sendable {
    var id: String { unavailable() }
}

struct Catalog: Sendable {
    func url(of name: String) -> URL { unavailable() }
    func contains(_ entityTag: String?) async throws -> Bool { unavailable() }
}

struct Library: Sendable {
    func add(_ file: DownloadedFile) async throws {}
}

func unavailable<Value>() -> Value { fatalError("snippets are only compiled") }
