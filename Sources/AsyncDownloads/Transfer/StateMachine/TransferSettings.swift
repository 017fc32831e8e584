internal import Foundation

/// The settings of one transfer: its request's settings over the downloader's defaults, and the limits of the engine.
struct TransferSettings: Sendable {
    var url: URL
    /// The method of the requests.
    var method = ExchangeRequest.Method.get
    var headers: CallerHeaders = [:]
    /// The other origins that receive the secret headers.
    var credentialOrigins: Set<Origin> = []
    /// The account whose credentials the headers contain.
    var account: String?
    /// The policies of the first subscriber.
    var policies = ResolvedPolicies()
    /// The digest that the first subscriber expects.
    var checksum: Checksum?
    var contentChangePolicy = ContentChangePolicy.restart
    var progressInterval = Duration.milliseconds(100)
    /// The rate in bytes per second below which a connection is replaced; nil for none.
    var minimumRate: Int64?

    /// The number of exchanges that may fetch parts of the file at the same time.
    var connections = ConnectionController.Mode.fixed(1)
    /// The minimum sizes that justify an exchange.
    var segmentLimits = ExtraExchanges.Limits()

    /// The engine's ``Transport/windowLength``.
    var windowLength: Int64?
    /// The engine's ``Transport/decodesContent``.
    var decodesContent = false

    /// Whether to wait for another process that owns the partial file, instead of failing.
    var waitsForOwner = true
    /// The interval between checks whether the owner still uses the file.
    var ownerPollInterval = Duration.milliseconds(250)
}
