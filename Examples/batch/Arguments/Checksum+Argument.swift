internal import AsyncDownloads

extension Checksum {
    /// Parses the value of `--checksum` or of `checksum=` in a manifest.
    init(argument: String) throws(Misuse) {
        guard let checksum = Checksum(argument) else {
            throw Misuse("a checksum has the form sha-256=HEX or sha-512=HEX, with all of its hexadecimal digits")
        }
        self = checksum
    }
}
