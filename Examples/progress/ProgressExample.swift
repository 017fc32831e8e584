import AsyncDownloads
import Foundation

/// Downloads one file, and prints its states and its progress.
@main
struct ProgressExample {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        guard let url = arguments.first.flatMap({ URL(string: $0) }) else {
            print("usage: progress URL [FILE]")
            exit(EXIT_FAILURE)
        }
        let file = URL(fileURLWithPath: arguments.dropFirst().first ?? url.lastPathComponent)

        let downloader = Downloader()
        let download = downloader.start(DownloadRequest(from: url, to: file))

        async let states: Void = { for await state in download.states { print("state: \(state)") } }()
        var status = EXIT_SUCCESS
        do {
            for try await event in download.events {
                if case .progress(let progress) = event { print("\(progress.receivedByteCount) bytes") }
            }
        } catch {
            print(error)
            status = EXIT_FAILURE
        }
        await states
        exit(status)
    }
}
