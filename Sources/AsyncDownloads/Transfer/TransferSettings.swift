internal import Foundation

/// What governs one transfer: the request's wishes over the downloader's defaults, and the engine's limits.
struct TransferSettings: Sendable {
    var url: URL
    var headers: HeaderFields = [:]
    var retryPolicy = RetryPolicy.default
    var idleTimeout: Duration?
    var deadline: Duration?
    var maximumByteCount: Int64?
    /// The digest that the file must have for the caller who asked first.
    var checksum: Checksum?
    var contentChangePolicy = ContentChangePolicy.restart
    var progressInterval = Duration.milliseconds(100)

    /// The engine's ``Transport/windowLength``.
    var windowLength: Int64?
    /// The engine's ``Transport/decodesContent``.
    var decodesContent = false

    /// Whether to wait for another process that owns the partial, rather than fail.
    var waitsForOwner = true
    /// How often to look whether it still does.
    var ownerPollInterval = Duration.milliseconds(250)

    /// How often to look at a running exchange: often enough for the idle timeout to be kept within a quarter.
    var tickInterval: Duration {
        guard let idleTimeout else { return .seconds(1) }
        return max(.milliseconds(10), min(.seconds(1), idleTimeout / 4))
    }
}
