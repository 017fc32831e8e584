internal import AsyncDownloads
internal import Foundation

@testable import batch

extension RunEvent {
    /// Returns an event of a download of `http://example.org/file.bin?secret=1`.
    static func sample(
        _ event: DownloadEvent, id: Int = 0, name: String = "file.bin", fetched: Int64 = 0, time: Duration = .seconds(2)
    ) throws -> Self {
        try sample(.success(event), id: id, name: name, fetched: fetched, time: time)
    }

    /// Returns the failure of a download of `http://example.org/file.bin?secret=1`.
    static func sample(failure: DownloadError, id: Int = 0) throws -> Self {
        try sample(.failure(failure), id: id)
    }

    private static func sample(
        _ what: Result<DownloadEvent, DownloadError>, id: Int, name: String = "file.bin", fetched: Int64 = 0,
        time: Duration = .seconds(2)
    ) throws -> Self {
        var item = Item(id: id, address: try Address("http://example.org/file.bin?secret=1"))
        item.output = name == "file.bin" ? nil : try OutputName(name)
        return Self(item: item, time: time, elapsed: .seconds(1), fetched: fetched, what: what)
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
