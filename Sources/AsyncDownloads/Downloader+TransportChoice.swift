extension Downloader {
    /// The HTTP engine that performs the exchanges.
    public struct TransportChoice: Sendable, Hashable {
        let kind: Kind
        /// Whether the platform and the build determine the kind.
        private(set) var isAutomatic = false

        enum Kind { case urlSession, httpClient, nio }

        /// URLSession on Apple platforms; elsewhere, the engine over SwiftNIO.
        ///
        /// That engine requires the trait `ServerStack`. Elsewhere without the trait, URLSession is used instead, and
        /// the process writes one warning to standard error.
        public static let automatic = Self(kind: automaticKind, isAutomatic: true)
        /// Foundation's URLSession.
        ///
        /// On Apple platforms, a task whose bytes can't be written yet is suspended. The amount that URLSession still
        /// reads and keeps in memory has not been measured.
        ///
        /// On Linux, a response with trailers terminates the process, and so does, up to Swift 6.3, one that ends within
        /// its head; a response that ignores the requested range may use as much memory as it is long; and the first
        /// exchange of each connection occupies a thread until it ends, even if no data arrives. See
        /// <doc:URLSessionOnLinux>. There, with the trait `ServerStack` but without the trait `LinuxURLSession`, every
        /// request fails with ``DownloadError/Code/unsupported``.
        public static let urlSession = Self(kind: .urlSession)
        /// The AsyncHTTPClient library.
        ///
        /// This engine doesn't limit the number of connections over all hosts, and doesn't support proxies.
        ///
        /// Without the trait `ServerStack`, every request fails with ``DownloadError/Code/unsupported``.
        public static let httpClient = Self(kind: .httpClient)
        /// The package's own HTTP/1.1 engine over SwiftNIO.
        ///
        /// Idle connections are bounded over all hosts: at most 256, and at most an eighth of the number of files that
        /// the process may open. If no descriptor is available for a connection, idle ones are closed, and the request
        /// waits for up to 30 seconds. A request is sent again, once, if a kept connection turns out to be closed. A
        /// cancellation or a shutdown takes effect at once, also while a connection is being established. TLS 1.2 is
        /// the oldest version.
        ///
        /// Without the trait `ServerStack`, every request fails with ``DownloadError/Code/unsupported``.
        public static let nio = Self(kind: .nio)
    }
}
