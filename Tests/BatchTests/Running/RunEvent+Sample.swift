internal import AsyncDownloads
internal import Foundation

@testable import batch

extension RunEvent {
    /// Returns an event of a download, two seconds after the start of the run.
    static func sample(
        _ event: DownloadEvent, id: Int = 0, url: String = "http://example.org/file.bin?secret=1",
        name: String? = nil, fetched: Int64 = 0, time: Duration = .seconds(2)
    ) throws -> RunEvent {
        var item = Item(id: id, address: try Address(url))
        item.output = try name.map { try OutputName($0) }
        return RunEvent(item, time: time, elapsed: .seconds(1), fetched: fetched, .success(event))
    }

    /// Returns the failure of a download of `http://example.org/file.bin?secret=1`.
    static func sample(failure: DownloadError, id: Int = 0) throws -> RunEvent {
        let item = Item(id: id, address: try Address("http://example.org/file.bin?secret=1"))
        return RunEvent(item, time: .seconds(2), elapsed: .seconds(1), .failure(failure))
    }
}

extension DownloadError {
    /// The error for a response with the status 404.
    static let notFound = DownloadError(
        .httpStatus, url: URL(string: "http://example.org/file.bin?secret=1"), statusCode: 404, retainedByteCount: 5)
}

extension DownloadedFile {
    /// A finished file of 2048 bytes.
    static let sample = DownloadedFile(
        url: URL(fileURLWithPath: "/d/file.bin"), byteCount: 2048, fetchedByteCount: 1024,
        finalURL: URL(fileURLWithPath: "/"))
}
