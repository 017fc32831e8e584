/// The ports of a background session.
package struct BackgroundEnvironment: Sendable {
    /// A closure that creates the connection to the system's session with an identifier.
    package typealias MakeDaemon = @Sendable (_ identifier: String, BackgroundOptions) -> any TransferDaemon

    package var disk: any FileSystem
    package var containers: any Containers
    /// The directory of all journals of this app, relative to its container.
    package var directory: ContainerPath
    package var time: any TimeSource
    package var lifecycle: any AppLifecycle
    /// The factory of connections; nil on a platform without background sessions.
    package var makeDaemon: MakeDaemon?
    /// A closure that makes a directory and the files created in it readable before the first unlock of the device, and
    /// excludes it from backups.
    package var prepareDirectory: @Sendable (String) -> Void = { _ in }
    /// The time in which an event about an unlisted task may still arrive.
    package var settleDelay = Duration.seconds(10)
    /// The time that the service may take to list its tasks.
    package var listLimit = Duration.seconds(30)
    /// The delay after which a failed write of the journal is repeated.
    package var saveRetryDelay = Duration.seconds(10)
    /// A name that separates this app's sessions from the sessions of other apps with the same container.
    package var appName: String?

    package init(
        disk: any FileSystem, containers: any Containers, directory: ContainerPath, time: any TimeSource,
        lifecycle: any AppLifecycle, makeDaemon: MakeDaemon?
    ) {
        self.disk = disk
        self.containers = containers
        self.directory = directory
        self.time = time
        self.lifecycle = lifecycle
        self.makeDaemon = makeDaemon
    }

    /// The error of a request on a platform or in a program without background sessions.
    var unsupported: DownloadError {
        DownloadError(.unsupported, "background sessions require an app on an Apple platform")
    }

    /// Returns the directory of a session's files, in the container of the app or of an app group.
    func directory(of identifier: String, group: String?) -> String? {
        let base: ContainerPath.Base = group.map { .group($0) } ?? directory.base
        // The app and its extensions have the same directory in the container of their group.
        let app = group == nil ? appName.map { "/\(Self.directoryName($0))" } ?? "" : ""
        let path = ContainerPath(
            base: base, relative: "\(directory.relative)\(app)/\(Self.directoryName(identifier))")
        return path.path(in: containers)
    }

    /// Returns a directory name for an identifier.
    private static func directoryName(_ identifier: String) -> String {
        let isPlain = identifier.utf8.allSatisfy { $0.isTokenCharacter && $0 != UInt8(ascii: "%") }
        let name = FileName.sanitized(identifier)
        guard isPlain, let name, name == identifier, name.utf8.count <= 100 else {
            return "session-\(CRC32.digits(of: identifier.utf8))"
        }
        return name
    }
}
