#if ServerStack
internal import Foundation

extension [UInt8] {
    /// The first bytes of a file, at most `limit`; nil where it cannot be read.
    ///
    /// Foundation leaks a page for every file that is empty, or says so as those in /proc do (Swift 6.3, Linux); in a
    /// process that looks for leaks these would be found.
    init?(file path: String, limit: Int) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        self.init(unsafeUninitializedCapacity: limit) { buffer, count in
            while count < limit {
                let length = read(descriptor, buffer.baseAddress.map { $0 + count }, limit - count)
                guard length > 0 else { break }
                count += length
            }
        }
    }
}
#endif
