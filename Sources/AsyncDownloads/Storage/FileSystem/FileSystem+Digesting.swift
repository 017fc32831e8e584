extension FileSystem {
    /// Returns the digest of the first `length` bytes of a file, in lowercase hexadecimal digits.
    ///
    /// - Parameter isWanted: A closure that is called between parts of 16 MiB; false ends the function with the error
    ///   ``DownloadError/Code/cancelled``.
    func digest(
        _ algorithm: Checksum.Algorithm, of file: OpenFile, length: Int64, ifWanted isWanted: () -> Bool = { true }
    ) throws(DownloadError) -> String {
        var digest = try RunningDigest(algorithm)
        while digest.position < length {
            guard isWanted() else { throw DownloadError(.cancelled) }
            let end = min(length, digest.position.addingClamped(16 << 20))
            try digest.advance(to: end) { (buffer, offset) throws(DownloadError) in
                do throws(FileFailure) {
                    return try read(into: buffer, from: file, at: offset)
                } catch {
                    throw DownloadError(error)
                }
            }
        }
        return digest.hex
    }
}
