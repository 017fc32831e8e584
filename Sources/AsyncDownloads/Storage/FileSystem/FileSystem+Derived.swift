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
                    throw DownloadError(.storageFailure, error.description, underlyingError: error)
                }
            }
        }
        return digest.hex
    }
}

extension FileSystem {
    /// Returns a sanitized name, changed if the volume of the directory would reject it.
    func acceptedName(_ name: String, in directory: String) -> String {
        let portable = FileName.portable(name)
        // Most names are acceptable everywhere.
        return portable.hasSameBytes(as: name) || !restrictsNames(in: directory) ? name : portable
    }
}
