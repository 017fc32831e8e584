/// The priority, the limits, and the permitted networks of a request.
extension DownloadRequest {
    /// The priority of the download among the queued downloads.
    ///
    /// A transfer that several handles share has the highest of their priorities.
    public var priority: Priority {
        get { fields.priority }
        set { fields.priority = newValue }
    }

    /// The maximum number of bytes to accept; a longer body fails with ``DownloadError/Code/bodyTooLarge``.
    ///
    /// If several downloads share a transfer, each has its own limit. Default: no limit for a file, and
    /// ``Downloader/Configuration/maximumDataByteCount`` for a download into memory.
    public var maximumByteCount: Int64? {
        get { options.maximumByteCount }
        set { options.maximumByteCount = newValue }
    }

    /// The number of connections over which parts of the file are fetched at the same time, from 1 to 16; `nil` for an
    /// adaptive number.
    ///
    /// An adaptive number grows while additional connections increase the rate, up to
    /// ``Downloader/Configuration/maximumConnectionsPerTransfer``. Additional connections are opened after the first
    /// bytes have arrived. They require that the server states the length and, unless the request has a ``checksum``, a
    /// strong validator; each part has at least 1 MiB. If the server refuses an additional connection or ignores its
    /// range, the file is fetched over the connections that it has accepted. A body in memory, and a file on FAT,
    /// exFAT, or HFS+, are always fetched over one connection. A request that joins a running transfer uses the number
    /// with which the transfer started.
    public var connectionCount: Int? {
        get { options.connectionCount }
        set { options.connectionCount = newValue }
    }

    /// The maximum rate at which the download receives bytes, at least 1 byte per second.
    ///
    /// ``Downloader/bandwidthLimit`` applies as well. A request that joins a running transfer uses the limit of the
    /// transfer, which ``Download/bandwidthLimit`` changes. Downloads in a background session ignore this property.
    public var bandwidthLimit: ByteRate {
        get { options.bandwidthLimit }
        set { options.bandwidthLimit = newValue }
    }

    /// The policy for retries; `nil` uses the downloader's ``Downloader/Configuration/retryPolicy``.
    ///
    /// If several handles share a transfer, the most patient of their policies applies.
    public var retryPolicy: RetryPolicy? {
        get { options.retryPolicy }
        set { options.retryPolicy = newValue }
    }

    /// The maximum time without a received byte before an attempt fails; `nil` uses the downloader's value.
    ///
    /// If several handles share a transfer, the longest of their timeouts applies. Time in which this process can't
    /// accept bytes, for example because a disk is slow, isn't counted.
    public var idleTimeout: TimeLimit? {
        get { options.idleTimeout }
        set { options.idleTimeout = newValue }
    }

    /// The maximum time for the whole download, including retries and waiting; `nil` uses the downloader's value.
    ///
    /// After this time, this handle fails with ``DownloadError/Code/deadlineExceeded``; other handles of the same
    /// transfer aren't affected. Time in which the handle is paused isn't counted, and neither is the verification of a
    /// complete file.
    public var deadline: TimeLimit? {
        get { options.deadline }
        set { options.deadline = newValue }
    }

    /// The networks that the download may use; `nil` uses the downloader's ``Downloader/Configuration/networkAccess``.
    ///
    /// If several handles share a transfer, it may use every network that one of them permits. A handle with
    /// ``NetworkAccess/WhenUnavailable/fail`` ends alone if the others wait. ``Download/networkAccess`` changes the
    /// value while the download runs. In a background session, the system applies the value to the download's tasks,
    /// and always waits.
    public var networkAccess: NetworkAccess? {
        get { options.networkAccess }
        set { options.networkAccess = newValue }
    }
}
