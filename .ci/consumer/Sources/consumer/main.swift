import AsyncDownloads
import Foundation

// Downloads the first argument's URL to the second argument's path with the default engine, or with AsyncHTTPClient if
// there is a third argument, http-client.
let arguments = CommandLine.arguments
guard arguments.count == 3 || arguments.count == 4 && arguments[3] == "http-client", let url = URL(string: arguments[1])
else {
    FileHandle.standardError.write(Data("usage: consumer URL FILE [http-client]\n".utf8))
    exit(64)
}
var configuration = Downloader.Configuration()
if arguments.count == 4 { configuration.transport = .httpClient }
let downloader = Downloader(configuration: configuration)
let download = downloader.start(DownloadRequest(from: url, to: URL(fileURLWithPath: arguments[2])))
do {
    for try await event in download.events {
        if case .finished(let file) = event { print(file.byteCount) }
    }
} catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(1)
}
await downloader.shutdown()
