internal import Foundation

extension BackgroundSessions {
    /// The background sessions of this process; the adapters are named only here.
    package static let shared = BackgroundSessions(.system)
}

extension BackgroundEnvironment {
    /// The environment of an app.
    static var system: Self {
        #if canImport(Darwin)
        let directory = ContainerPath(base: .home, relative: "Library/Application Support/async-downloads/background")
        var environment = Self(
            disk: POSIXFileSystem(), containers: SystemContainers(), directory: directory, time: SystemTimeSource(),
            lifecycle: SystemLifecycle.shared
        ) { identifier, options in
            URLSessionDaemon(identifier: identifier, options: options)
        }
        environment.unprotect = URLSessionDaemon.unprotect
        return environment
        #else
        let directory = ContainerPath(base: .home, relative: ".local/share/async-downloads/background")
        return Self(
            disk: POSIXFileSystem(), containers: SystemContainers(), directory: directory, time: SystemTimeSource(),
            lifecycle: UninterruptedLifecycle(), makeDaemon: nil)
        #endif
    }
}
