internal import struct Foundation.Date
internal import struct Foundation.URL

extension DownloadRequest {
    /// The properties that every request sets.
    ///
    /// A request is one reference to these values, so a waiting download doesn't copy them. Most requests leave all
    /// ``Options`` at their defaults and share one instance.
    struct Fields: Sendable, Hashable {
        var url: URL
        var destination: Destination
        var priority: Priority
        var headers: HeaderFields
        var options = Options.default

        init(url: URL, destination: Destination, headers: HeaderFields, priority: Priority) {
            let (url, credentials) = url.separatingCredentials()
            self.url = url
            if credentials != nil { options.value.urlCredentials = credentials }
            self.destination = destination
            self.headers = headers
            self.priority = priority
        }
    }

    typealias Authorizer = IdentifiedClosure<@Sendable (AuthorizationRequest) async throws -> HeaderFields>

    /// The properties that most requests leave at their defaults.
    struct Options: Sendable, Hashable {
        var nonsecretHeaders: Set<String> = []
        var account: String?
        var userInfo: [String: String] = [:]
        /// The user name and the password that ``DownloadRequest/url`` contained when it was set.
        var urlCredentials: URLCredentials?
        var authorizer: DownloadRequest.Authorizer?
        var credentialOrigins: Set<String> = []
        var redirectDecision: IdentifiedClosure<@Sendable (RedirectProposal) -> Bool>?
        var checksum: Checksum?
        var maximumByteCount: Int64?
        var expectedByteCount: Int64?
        var acceptedMediaTypes: [String]?
        var responseValidation: ResponseValidation?
        var connectionCount: Int?
        var bandwidthLimit = ByteRate.unlimited
        var retryPolicy: RetryPolicy?
        var idleTimeout: TimeLimit?
        var deadline: TimeLimit?
        var networkAccess: NetworkAccess?
        var duplicatePolicy: DuplicatePolicy?
        var refreshURL: URLRefresh?
        var urlExpiration: Date?
        var identity: String?
        var defaultFileName: String?
        var partialInUsePolicy: PartialInUsePolicy?
        var contentChangePolicy: ContentChangePolicy?
        var existingFilePolicy: ExistingFilePolicy?
        var background = BackgroundTaskOptions()
        var origin = RestoredOrigin()
        var purpose = Purpose.download

        static let `default` = CopyOnWrite(Self())
    }
}

extension DownloadRequest {
    /// The purpose of a request.
    enum Purpose: Sendable, Hashable {
        /// The whole resource.
        case download
        /// The head of the response to a HEAD request.
        case head
        /// The head of the response to a GET request for the first byte.
        case firstByte

        /// Returns the largest number of bytes that one exchange requests; nil for no limit.
        ///
        /// - Parameter engine: The number that the engine needs.
        func windowLength(_ engine: Int64?) -> Int64? {
            switch self {
            case .download: engine
            case .head: nil
            case .firstByte: 1
            }
        }
    }

    /// The purpose of the request.
    var purpose: Purpose {
        get { options.purpose }
        set { options.purpose = newValue }
    }
}

/// The directory in which a restored request's checkpoint was found; the destination must be below it.
///
/// Another user may have written the checkpoint, or may have added a symbolic link after the checkpoint was read. The
/// directory doesn't change what is downloaded, so all values are equal.
struct RestoredOrigin: Sendable, Hashable {
    var directory: String?

    static func == (left: Self, right: Self) -> Bool { true }

    func hash(into hasher: inout Hasher) {}
}
