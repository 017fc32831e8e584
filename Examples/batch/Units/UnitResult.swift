internal import AsyncDownloads
internal import Foundation

/// The record of one download in the journal of a unit.
struct UnitResult: Sendable, Hashable {
    enum Kind: String, Codable, Sendable {
        case finished, skipped, failed
    }

    /// The members of a line that are read again after a restart.
    private struct Line: Decodable {
        var id: Int
        var result: Kind
        var path: String?
        var bytes: Int64?
        var fetched: Int64?
        var code: String?
        var status: Int?
        var retryable: Bool?
    }

    /// The number of the download in its unit, from 0 on.
    let id: Int
    let kind: Kind
    /// The path of the file, in the output directory or in the archive.
    let path: String?
    let bytes: Int64
    let fetched: Int64
    /// The error for the histogram, such as `httpStatus 404`.
    let error: String?
    /// Whether the download failed for a temporary reason.
    let isPassing: Bool

    /// Reads a line of a journal; nil if it isn't a result.
    init?(_ text: Data) {
        guard let line = try? JSONDecoder().decode(Line.self, from: text) else { return nil }
        (id, kind, path) = (line.id, line.result, line.path)
        (bytes, fetched) = (line.bytes ?? 0, line.fetched ?? 0)
        error = line.code.map { code in line.status.map { "\(code) \($0)" } ?? code }
        isPassing = line.retryable ?? false
    }

    /// Creates the result of a finished or failed download; nil for any other event.
    init?(_ event: RunEvent, id: Int, path: String?) {
        self.id = id
        self.path = path
        fetched = event.fetched
        switch event.what {
        case .success(.finished(let file)):
            kind = file.isReused ? .skipped : .finished
            (bytes, error, isPassing) = (file.byteCount, nil, false)
        case .failure(let failure):
            kind = .failed
            bytes = 0
            error = failure.statusCode.map { "\(failure.code.name) \($0)" } ?? failure.code.name
            isPassing = failure.mayPass
        case .success: return nil
        }
    }
}
