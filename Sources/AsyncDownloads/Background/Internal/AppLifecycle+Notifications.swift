/// The notifications by which the frameworks of Apple's platforms report the life cycle of an app.
///
/// They are observed by name, so that no user interface framework is linked.
enum LifecycleNotifications {
    /// The change that each notification reports.
    ///
    /// An app that was launched in the background and is then opened becomes active without entering the foreground
    /// on some systems, so becoming active counts as well.
    static let changes: [String: LifecycleChange] = [
        "UIApplicationDidBecomeActiveNotification": .willEnterForeground,
        "UIApplicationWillEnterForegroundNotification": .willEnterForeground,
        "UIApplicationDidEnterBackgroundNotification": .didEnterBackground,
        "WKApplicationDidBecomeActiveNotification": .willEnterForeground,
        "WKApplicationWillEnterForegroundNotification": .willEnterForeground,
        "WKApplicationDidEnterBackgroundNotification": .didEnterBackground,
        "NSExtensionHostWillEnterForegroundNotification": .willEnterForeground,
        "NSExtensionHostDidEnterBackgroundNotification": .didEnterBackground,
    ]

    /// Returns whether a process counts as being in the foreground before a notification has arrived.
    ///
    /// The system launches an app in the background, too, and the app's code runs before any notification. An app is
    /// therefore in the background until a notification reports otherwise. An app extension and a tool have no
    /// background, and an app on macOS isn't suspended.
    ///
    /// - Parameters:
    ///   - bundlePath: The path of the program's main bundle.
    ///   - canBeSuspended: Whether the platform suspends apps.
    static func startInForeground(bundlePath: String, canBeSuspended: Bool) -> Bool {
        !canBeSuspended || !bundlePath.hasSuffix(".app")
    }
}

/// The state of the life cycle that follows from the changes so far.
struct LifecycleState: Sendable {
    private(set) var isInForeground: Bool

    init(isInForeground: Bool) {
        self.isInForeground = isInForeground
    }

    /// Applies a change, and returns whether it is news; several notifications report the same change.
    mutating func apply(_ change: LifecycleChange) -> Bool {
        let isForeground = change == .willEnterForeground
        defer { isInForeground = isForeground }
        return isForeground != isInForeground
    }
}
