internal import Foundation

/// What governs one transfer: the request's wishes over the downloader's defaults, and the engine's limits.
struct TransferSettings: Sendable {
    var url: URL
    var headers: CallerHeaders = [:]
    /// The caller's name for whose credentials the headers hold.
    var account: String?
    /// What the first subscriber demands.
    var demands = SubscriberDemands()
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
}
