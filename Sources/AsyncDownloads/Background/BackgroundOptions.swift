/// The settings of a background session, which the system applies to all its tasks.
///
/// The settings are recorded with the session. A later launch that passes different settings starts new tasks in
/// another session of the system, and the tasks that are already with the system keep the settings they started with.
public struct BackgroundOptions: Sendable, Hashable, Codable {
    /// A Boolean value that indicates whether the system may choose the time of the transfers.
    ///
    /// The system always chooses the time of tasks that are started while the app is in the background. Default:
    /// `false`.
    public var isDiscretionary = false

    /// A Boolean value that indicates whether the system launches the app when tasks have ended.
    ///
    /// Default: `true`.
    public var sendsLaunchEvents = true

    /// The identifier of the app group in whose container an app extension's session keeps its files.
    ///
    /// App extensions require a value, because the system can't use their own container. Default: `nil`.
    public var sharedContainerIdentifier: String?

    /// The policy for downloads that were stopped because the user quit the app in the app switcher.
    ///
    /// Default: ``ForceQuitPolicy/pause``.
    public var forceQuitPolicy = ForceQuitPolicy.pause

    /// The policy for the URL from which the final response came.
    ///
    /// The system follows redirects of background tasks without asking the app, so the URL is checked when a task has
    /// finished. Default: ``FinalURLPolicy/secure``.
    public var finalURLPolicy = FinalURLPolicy.secure

    /// The maximum number of tasks that are with the system at the same time.
    ///
    /// Thousands of tasks can make the system's transfer service unresponsive. Additional downloads wait in the journal
    /// and are started while the app is in the foreground. Requests fail with ``DownloadError/Code/invalidRequest`` if
    /// the value is less than 1. Default: 200.
    public var maximumTaskCount = 200

    /// The maximum time for a transfer, after which the system ends it with ``DownloadError/Code/timedOut``.
    ///
    /// The system repeats requests on its own within this time. Requests fail with
    /// ``DownloadError/Code/invalidRequest`` if the value is shorter than a second. Default: seven days.
    public var resourceTimeout = Duration.seconds(604_800)

    /// The time for which the received bytes of a canceled download are kept for the next request for the resource.
    ///
    /// Older bytes are removed when the session is used for the first time in a process. Outcomes that the app has not
    /// received are never removed. Default: 30 days.
    public var abandonedBytesLifetime = Duration.seconds(2_592_000)

    /// Creates options with the default values.
    public init() {}

    /// A policy for downloads that were stopped because the user quit the app in the app switcher.
    public enum ForceQuitPolicy: String, Sendable, Hashable, Codable {
        /// The download is restored as paused.
        case pause
        /// The download continues at the next launch.
        case restart
    }

    /// A policy for the URL from which the final response came, after redirects.
    public enum FinalURLPolicy: String, Sendable, Hashable, Codable {
        /// Every http and https URL is accepted.
        case any
        /// A request to an https URL must be answered from an https URL.
        case secure
        /// The response must come from the origin of the request (RFC 6454).
        case sameOrigin
    }
}

extension BackgroundOptions {
    /// The shortest permitted ``resourceTimeout``; the system counts in whole seconds.
    private static let shortestResourceTimeout = Duration.seconds(1)

    /// The reason why no download can be carried out with the options, or `nil` if there is none.
    var validationError: DownloadError? {
        if maximumTaskCount < 1 { return DownloadError(.invalidRequest, "maximumTaskCount is less than 1") }
        if resourceTimeout < Self.shortestResourceTimeout {
            return DownloadError(.invalidRequest, "resourceTimeout is shorter than a second")
        }
        return nil
    }

    /// Returns whether both options configure the system's tasks in the same way.
    ///
    /// The other options are applied by the package, so a change of them doesn't need another session.
    func configuresTasks(like other: Self) -> Bool {
        isDiscretionary == other.isDiscretionary && sendsLaunchEvents == other.sendsLaunchEvents
            && sharedContainerIdentifier == other.sharedContainerIdentifier
            && resourceTimeout == other.resourceTimeout
    }
}

extension BackgroundOptions {
    private enum CodingKeys: String, CodingKey {
        case isDiscretionary = "isDiscretionary"
        case sendsLaunchEvents = "sendsLaunchEvents"
        case sharedContainerIdentifier = "sharedContainerIdentifier"
        case forceQuitPolicy = "forceQuitPolicy"
        case finalURLPolicy = "finalURLPolicy"
        case maximumTaskCount = "maximumTaskCount"
        case resourceTimeout = "resourceTimeout"
        case abandonedBytesLifetime = "abandonedBytesLifetime"
    }

    /// Creates options from their recorded form; an option that an earlier version has not recorded has its default.
    public init(from decoder: any Decoder) throws {
        self.init()
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try container.read(.isDiscretionary, into: &isDiscretionary)
        try container.read(.sendsLaunchEvents, into: &sendsLaunchEvents)
        try container.read(.sharedContainerIdentifier, into: &sharedContainerIdentifier)
        try container.read(.forceQuitPolicy, into: &forceQuitPolicy)
        try container.read(.finalURLPolicy, into: &finalURLPolicy)
        try container.read(.maximumTaskCount, into: &maximumTaskCount)
        try container.read(.resourceTimeout, into: &resourceTimeout)
        try container.read(.abandonedBytesLifetime, into: &abandonedBytesLifetime)
        // Earlier versions accepted values with which no download could end.
        if maximumTaskCount < 1 { maximumTaskCount = Self().maximumTaskCount }
        if resourceTimeout < Self.shortestResourceTimeout { resourceTimeout = Self().resourceTimeout }
    }
}
