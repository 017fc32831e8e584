internal import Foundation

extension [UInt8] {
    /// Reads the first bytes of a file, at most `limit`; nil if the file cannot be opened.
    ///
    /// It does not use Foundation, which leaks a page for each file that is empty or, like the files in /proc, reports
    /// a size of zero (Swift 6.3, Linux). A process that looks for leaks would find these pages.
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
