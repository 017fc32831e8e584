internal import AsyncDownloads
internal import Foundation
internal import ScriptedDaemon

/// A client of a scripted transfer service, which a test ends at any moment and starts again.
///
///     background-client HOME SERVICE COUNT restore|start|observe
///
/// The client wants COUNT files. With `restore`, it first asks for the downloads of earlier processes; with `start`, it
/// requests every file whose outcome was not reported before. It prints a line for each outcome, and ends after the
/// last one. With `observe`, it restores, follows the states of all downloads, and never receives an outcome or ends.
@main
enum BackgroundClient {
    private struct Home: Containers {
        let home: String

        func group(_ identifier: String) -> String? { nil }
    }

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let count = Int(arguments[3]) else {
            throw CocoaError(.featureUnsupported)
        }
        let home = arguments[1]
        let mode = arguments[4]
        let notes = URL(fileURLWithPath: home).appending(path: "reported")
        try FileManager.default.createDirectory(at: notes, withIntermediateDirectories: true)
        let reported = Set(try FileManager.default.contentsOfDirectory(atPath: notes.path))
        let remember: @Sendable (String) -> Void = { name in
            try? Data().write(to: notes.appending(path: name))
        }
        let directory = try SpoolDirectory(URL(fileURLWithPath: arguments[2]))
        var environment = BackgroundEnvironment(
            disk: POSIXFileSystem(), containers: Home(home: home),
            directory: ContainerPath(base: .home, relative: "journals"), time: SystemTimeSource(),
            lifecycle: UninterruptedLifecycle()
        ) { identifier, options in
            // A real service lists its tasks behind the events that it has reported, on the same queue. With that, no
            // finished task is taken for a lost one, however slow this process is.
            var behavior = ScriptedDaemon.Misbehavior()
            behavior.listsAtOnce = false
            let daemon = ScriptedDaemon(
                identifier: identifier, options: options, directory: directory, misbehavior: behavior)
            // The service of a real system has its own queue as well.
            Thread.detachNewThread {
                while true {
                    // A pause between the looks into the directory; nothing depends on its length.
                    if daemon.deliver() == 0 { usleep(500) }
                }
            }
            return daemon
        }
        environment.settleDelay = .milliseconds(200)
        let downloader = Downloader(
            configuration: .background(identifier: "client"), backgroundSessions: BackgroundSessions(environment))
        let files = URL(fileURLWithPath: home).appending(path: "files")
        var downloads: [String: Download] = [:]
        if mode != "start" {
            for restored in try await downloader.restored() {
                downloads[restored.download.request.url.lastPathComponent] = restored.download
            }
        }
        for number in 1...count where downloads["\(number)"] == nil {
            let file = files.appending(path: "\(number)")
            // The outcome was reported to an earlier process, which has recorded this.
            guard let url = URL(string: "https://example.org/\(number)"), !reported.contains("\(number)") else {
                continue
            }
            downloads["\(number)"] = downloader.start(DownloadRequest(from: url, to: file))
        }
        write("ready")
        if mode == "observe" {
            await withTaskGroup(of: Void.self) { group in
                for download in downloads.values { group.addTask { for await _ in download.updates {} } }
            }
            let (forever, continuation) = AsyncStream.makeStream(of: Void.self)
            for await _ in forever {}
            continuation.finish()
        }
        await withTaskGroup(of: Void.self) { group in
            for (name, download) in downloads {
                group.addTask {
                    do {
                        let finished = try await download.file
                        remember(name)
                        write("finished \(name) \(finished.byteCount)")
                    } catch {
                        write("failed \(name) \(error)")
                    }
                }
            }
        }
        await downloader.shutdown()
        write("done")
    }

    private static func write(_ line: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
    }
}
