import AsyncDownloads
import Foundation

// Downloads the first argument's URL to the second argument's path with the default engine, or with the one over SwiftNIO if
// there is a third argument, nio.
let arguments = CommandLine.arguments
guard arguments.count == 3 || arguments.count == 4 && arguments[3] == "nio", let url = URL(string: arguments[1])
else {
    FileHandle.standardError.write(Data("usage: consumer URL FILE [nio]\n".utf8))
    exit(64)
}
var configuration = Downloader.Configuration()
if arguments.count == 4 { configuration.transport = .nio }
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
