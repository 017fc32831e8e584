import AsyncDownloads
import Foundation

// Downloads the URL in the first argument to the path in the second one, as an app without the trait would.
let arguments = CommandLine.arguments
guard arguments.count == 3, let url = URL(string: arguments[1]) else {
    FileHandle.standardError.write(Data("usage: consumer URL FILE\n".utf8))
    exit(64)
}
let downloader = Downloader()
let download = downloader.start(DownloadRequest(from: url, to: URL(fileURLWithPath: arguments[2])))
for try await event in download.events {
    if case .finished(let file) = event { print(file.byteCount) }
}
await downloader.shutdown()
