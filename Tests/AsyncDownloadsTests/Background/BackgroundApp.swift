internal import Foundation
internal import ScriptedDaemon

@testable import AsyncDownloads

/// An app whose processes a test launches and kills, with a transfer service that outlives them.
final class BackgroundApp: Sendable {
    /// One process of the app.
    final class Life: Sendable {
        let downloader: Downloader
        let sessions: BackgroundSessions
        let disk: KillableFileSystem
        let daemons: DaemonList

        init(downloader: Downloader, sessions: BackgroundSessions, disk: KillableFileSystem, daemons: DaemonList) {
            self.downloader = downloader
            self.sessions = sessions
            self.disk = disk
            self.daemons = daemons
        }

        /// Waits until all submitted work, and all work that follows from it, has been processed.
        func settle() async throws {
            guard let session = try downloader.background?.session.get() else { return }
            // A list or a cancellation adds an input to the queue; none of them leads to more than a few others.
            for _ in 0..<8 { await session.settled() }
        }

        /// Delivers all events that wait, and processes them.
        func deliver() async throws {
            // The connection may not have been made yet.
            try await settle()
            for daemon in daemons.all { daemon.deliver() }
            try await settle()
        }

        /// Returns the downloads of earlier processes by the last component of their URL.
        func restored() async throws -> [String: Downloader.RestoredDownload] {
            let restored = try await downloader.restored()
            return Dictionary(
                uniqueKeysWithValues: restored.map { ($0.download.request.url.lastPathComponent, $0) })
        }

        /// Ends the process at once.
        func kill() {
            for daemon in daemons.all { daemon.cut() }
            disk.kill()
        }
    }

    /// The connections that a process has made.
    final class DaemonList: Sendable {
        private let list = Mutex<[ScriptedDaemon]>([])

        var all: [ScriptedDaemon] { list.withLock { $0 } }

        func add(_ daemon: ScriptedDaemon) { list.withLock { $0.append(daemon) } }
    }

    let directory: TemporaryDirectory
    let service: ScriptedService
    let time = ManualTimeSource()
    let lifecycle = ManualLifecycle()
    /// Returns the resume data of a canceled task, for processes that are launched later.
    let makeResumeData = SharedValue<ScriptedDaemon.MakeResumeData> {
        $0.received > 0 ? ScriptedService.resumeData(of: $0) : nil
    }
    private let containerNumber = Mutex(1)

    init() throws {
        directory = try TemporaryDirectory()
        service = ScriptedService(try SpoolDirectory(URL(fileURLWithPath: "\(directory.path)/service")))
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    }

    /// The path of the app's container.
    var home: String { "\(directory.path)/container-\(containerNumber.withLock { $0 })" }

    /// The path of the container of the app group `group.one`.
    var groupHome: String { "\(directory.path)/group" }

    /// The path of the container of the app's extension.
    var extensionHome: String { "\(directory.path)/extension" }

    /// Moves the container, as an update of the app does.
    func update() throws {
        let old = home
        containerNumber.withLock { $0 += 1 }
        try FileManager.default.moveItem(atPath: old, toPath: home)
    }

    /// Launches a process, which creates its downloader at once.
    ///
    /// - Parameter container: The container of an app extension; nil for the app's container.
    func launch(
        options: BackgroundOptions = BackgroundOptions(), misbehavior: ScriptedDaemon.Misbehavior = .init(),
        container: String? = nil, configure: (inout Downloader.Configuration) -> Void = { _ in }
    ) -> Life {
        let (sessions, disk, daemons) = process(misbehavior, container: container)
        var configuration = Downloader.Configuration.background(identifier: "app", options: options)
        configuration.progressInterval = .zero
        configuration.memoryPressure = .none
        configure(&configuration)
        return Life(
            downloader: Downloader(configuration: configuration, backgroundSessions: sessions), sessions: sessions,
            disk: disk, daemons: daemons)
    }

    /// Starts downloads in a process that is killed afterwards.
    func run(_ count: Int, options: BackgroundOptions = BackgroundOptions()) async throws {
        let life = launch(options: options)
        let isShared = options.sharedContainerIdentifier != nil
        for number in 1...count { life.downloader.start(isShared ? sharedRequest(number) : request(number)) }
        try await life.settle()
        life.kill()
    }

    /// Starts a process that has not used its session yet.
    func process(
        _ misbehavior: ScriptedDaemon.Misbehavior = .init(), container: String? = nil
    ) -> (sessions: BackgroundSessions, disk: KillableFileSystem, daemons: DaemonList) {
        let disk = KillableFileSystem()
        let daemons = DaemonList()
        let environment = BackgroundEnvironment(
            disk: disk, containers: FixedContainers(home: container ?? home, groups: ["group.one": groupHome]),
            directory: ContainerPath(base: .home, relative: "journals"), time: time, lifecycle: lifecycle
        ) { [directory = service.directory, makeResumeData] identifier, options in
            let daemon = ScriptedDaemon(
                identifier: identifier, options: options, directory: directory, misbehavior: misbehavior,
                makeResumeData: makeResumeData.withLock { $0 })
            daemons.add(daemon)
            return daemon
        }
        return (BackgroundSessions(environment), disk, daemons)
    }

    /// Returns a request for a file in the container.
    func request(_ number: Int, to name: String? = nil) -> DownloadRequest {
        let file = URL(fileURLWithPath: "\(home)/files/\(name ?? "\(number)")")
        return DownloadRequest(from: URL(fileURLWithPath: "/\(number)", relativeTo: nil).web, to: file)
    }

    /// Returns a request for a file in the container of the app group.
    func sharedRequest(_ number: Int) -> DownloadRequest {
        var request = request(number)
        request.destination = .file(URL(fileURLWithPath: "\(groupHome)/files/\(number)"))
        return request
    }

    /// Returns whether a file in the container of the app group has the contents of its resource.
    func isShared(_ number: Int) -> Bool {
        FileManager.default.contents(atPath: "\(groupHome)/files/\(number)")
            == ScriptedService.content("https://example.org/\(number)")
    }

    /// The path of the journal.
    var journalPath: String { "\(home)/journals/app/journal" }

    /// The journal as the next process would read it; nil if there is none.
    var journal: BackgroundJournal? {
        if case .journal(let journal) = JournalFile(disk: POSIXFileSystem(), path: journalPath).read() {
            journal
        } else {
            nil
        }
    }

    /// Returns whether a file has the contents of its resource.
    func isInPlace(_ number: Int, at name: String? = nil) -> Bool {
        FileManager.default.contents(atPath: "\(home)/files/\(name ?? "\(number)")")
            == ScriptedService.content("https://example.org/\(number)")
    }

    /// The names of the files that were placed.
    var placedNames: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "\(home)/files")) ?? []).sorted()
    }

    /// The names of the files in the session's directory, other than the journal, which may be written, and the lock.
    var spooledNames: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "\(home)/journals/app")) ?? []).sorted()
            .filter { !["journal", "journal.new", "lock"].contains($0) }
    }

    /// The tasks that are with the service.
    var tasks: [SpoolDirectory.StoredTask] { service.directory.tasks.sorted { $0.url < $1.url } }

    /// Finishes all tasks.
    func finishAll() throws {
        for task in tasks { try service.finish(task) }
    }
}

/// A value that closures share.
final class SharedValue<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) {
        self.value = Mutex(value)
    }

    func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result { value.withLock { body(&$0) } }
}

extension URL {
    /// The resource of the scripted service with the name of this path.
    fileprivate var web: URL { URL(string: "https://example.org\(path)") ?? self }
}

extension Download {
    /// The error with which the download ends, or nil if it finishes.
    var failure: DownloadError? {
        get async {
            do throws(DownloadError) {
                _ = try await file
                return nil
            } catch {
                return error
            }
        }
    }
}
