/// The sizes of the workloads.
struct WorkloadSize: Sendable, Hashable, Codable {
    /// The number of small files.
    var files: Int
    /// The length of the large file.
    var mebibytes: Int
    /// The number of files from the server that delays its responses.
    var delayedFiles: Int
    /// The duration of a download with a bandwidth limit.
    var limitedSeconds: Int
    /// The period of the server with a request limit.
    var requestSeconds: Int
    /// The number of files from that server.
    var requestedFiles: Int
    /// The number of origins, each of which has ``filesPerOrigin`` small files.
    var origins: Int

    /// The sizes of a whole measurement.
    static let full = Self(
        files: 10_000, mebibytes: 1024, delayedFiles: 10_000, limitedSeconds: 10, requestSeconds: 10,
        requestedFiles: 1000, origins: 2000)
    /// The sizes of a measurement that takes less than three minutes on two processors.
    static let quick = Self(
        files: 2000, mebibytes: 256, delayedFiles: 300, limitedSeconds: 3, requestSeconds: 2, requestedFiles: 60,
        origins: 200)

    /// The number of requests that the server with a request limit allows in ``requestSeconds``.
    var requestCount: Int { 10 * requestSeconds }

    /// The time that follows from a limit; the files of the last period arrive at once.
    func exactSeconds(_ workload: Workload) -> Double {
        guard workload == .requestLimit else { return Double(limitedSeconds) }
        return Double((requestedFiles - 1) / requestCount * requestSeconds)
    }

    /// The length of the file that the server sends slowly, which takes about ten seconds over one connection.
    var slowMebibytes: Int { min(mebibytes, 200) }

    /// The length of each file that is downloaded over TLS while all others are.
    var mediumMebibytes: Int { max(1, mebibytes / 128) }

    /// The length of the file that is downloaded with a bandwidth limit.
    var limitedMebibytes: Int { limitedSeconds * Self.limit }

    /// The length of a small file in bytes.
    static let smallLength = 4096
    static let filesPerOrigin = 3
    /// The number of file descriptors of a program that downloads from many origins.
    static let descriptors = 1024
    /// The number of concurrent downloads over many connections.
    static let connections = 64
    /// The number of concurrent downloads of small files.
    static let jobs = 16
    /// The limit of a slow connection, and the bandwidth limit of the library, in MiB per second.
    static let limit = 20
    /// The delay of each response of the server with a delay, in milliseconds.
    static let delay = 50
}
