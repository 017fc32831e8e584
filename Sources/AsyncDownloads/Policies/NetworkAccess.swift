/// The networks that a download may use, and what happens while none of them is available.
///
/// ```swift
/// var request = DownloadRequest(from: url, to: destination)
/// request.networkAccess = NetworkAccess(allowsCellular: false)
/// ```
///
/// A download that isn't permitted to use the current network sends no request. If the network changes to one that
/// isn't permitted, a running download keeps its bytes, waits, and continues as soon as a permitted network is
/// available. This uses no retry. Requests to the local machine (`localhost`, 127.0.0.0/8, and ::1) are always
/// permitted.
///
/// Linux doesn't report whether a network is cellular, expensive, or constrained, so only ``whenUnavailable`` has an
/// effect there. The machine counts as having no network if no interface except the loopback interface is up and has an
/// address.
public struct NetworkAccess: Sendable, Hashable {
    /// A Boolean value that indicates whether cellular networks may be used.
    ///
    /// Default: `true`.
    public var allowsCellular: Bool

    /// A Boolean value that indicates whether expensive networks may be used, such as cellular networks and personal
    /// hotspots.
    ///
    /// Default: `true`.
    public var allowsExpensive: Bool

    /// A Boolean value that indicates whether networks in Low Data Mode may be used.
    ///
    /// Default: `true`.
    public var allowsConstrained: Bool

    /// The policy that applies while no permitted network is available.
    ///
    /// Default: ``WhenUnavailable/wait``.
    public var whenUnavailable: WhenUnavailable

    /// Creates a value with the given properties.
    public init(
        allowsCellular: Bool = true, allowsExpensive: Bool = true, allowsConstrained: Bool = true,
        whenUnavailable: WhenUnavailable = .wait
    ) {
        self.allowsCellular = allowsCellular
        self.allowsExpensive = allowsExpensive
        self.allowsConstrained = allowsConstrained
        self.whenUnavailable = whenUnavailable
    }

    /// A policy that applies while no permitted network is available.
    public struct WhenUnavailable: Sendable, Hashable {
        let waits: Bool

        /// The download waits until a permitted network is available.
        ///
        /// This is the default. ``DownloadEvent/waiting(reason:)`` reports ``WaitingReason/connectivity`` or
        /// ``WaitingReason/networkNotPermitted``. The ``DownloadRequest/deadline`` limits the wait.
        public static let wait = Self(waits: true)

        /// The download fails with ``DownloadError/Code/notConnected`` if no network is available, or with
        /// ``DownloadError/Code/networkNotPermitted`` if the current one isn't permitted; its bytes are kept.
        public static let fail = Self(waits: false)
    }
}

extension NetworkAccess {
    /// Returns the access that permits every network that one of both permits, and waits if one of them waits.
    func combined(with other: Self) -> Self {
        Self(
            allowsCellular: allowsCellular || other.allowsCellular,
            allowsExpensive: allowsExpensive || other.allowsExpensive,
            allowsConstrained: allowsConstrained || other.allowsConstrained,
            whenUnavailable: WhenUnavailable(waits: whenUnavailable.waits || other.whenUnavailable.waits))
    }

    /// Returns the reason why a path can't be used, or nil if it can.
    func hindrance(of path: NetworkPath) -> NetworkHindrance? {
        if !path.isSatisfied { return .noNetwork }
        let isForbidden =
            path.usesCellular && !allowsCellular || path.isExpensive && !allowsExpensive
            || path.isConstrained && !allowsConstrained
        return isForbidden ? .notPermitted : nil
    }
}
