import AsyncDownloads
import Foundation

/// Downloads one file, and prints its state and its progress.
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

        for await snapshot in download.updates {
            print("\(snapshot.state): \(snapshot.progress.receivedByteCount) bytes")
            if let error = snapshot.error { print(error) }
        }
        exit(download.state == .completed ? EXIT_SUCCESS : EXIT_FAILURE)
    }
}
