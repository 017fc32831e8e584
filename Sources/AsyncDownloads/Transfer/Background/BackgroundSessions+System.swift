internal import Foundation

extension BackgroundSessions {
    /// The background sessions of this process; this is the only place that names the adapters.
    package static let shared = BackgroundSessions(.system)
}

extension BackgroundEnvironment {
    /// The environment of an app.
    static var system: Self {
        #if canImport(Darwin)
        #if os(tvOS)
        // An app can't write to the other directories of its container.
        let parent = "Library/Caches"
        #else
        let parent = "Library/Application Support"
        #endif
        let directory = ContainerPath(base: .home, relative: "\(parent)/async-downloads/background")
        var environment = Self(
            disk: POSIXFileSystem(), containers: SystemContainers(), directory: directory, time: SystemTimeSource(),
            lifecycle: SystemLifecycle.shared
        ) { identifier, options in
            URLSessionDaemon(identifier: identifier, options: options)
        }
        environment.prepareDirectory = URLSessionDaemon.prepareDirectory
        // The system supports no background session for a program without an identifier, such as a command-line tool.
        if Bundle.main.bundleIdentifier == nil { environment.makeDaemon = nil }
        #if os(macOS)
        // Apps outside the sandbox share the same home directory.
        environment.appName = Bundle.main.bundleIdentifier
        #endif
        return environment
        #else
        let directory = ContainerPath(base: .home, relative: ".local/share/async-downloads/background")
        return Self(
            disk: POSIXFileSystem(), containers: SystemContainers(), directory: directory, time: SystemTimeSource(),
            lifecycle: UninterruptedLifecycle(), makeDaemon: nil)
        #endif
    }
}
