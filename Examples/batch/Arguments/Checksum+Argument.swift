internal import AsyncDownloads

extension Checksum {
    /// The value of `--checksum`, and of a manifest's `checksum=`.
    init(argument: String) throws(Misuse) {
        guard let checksum = Checksum(argument) else {
            throw Misuse("a checksum is written as sha-256= or sha-512= and all of its hexadecimal digits")
        }
        self = checksum
    }
}
