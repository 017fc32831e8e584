#if ServerStack && !canImport(Darwin)
internal import Foundation

extension ProcessSample {
    /// The process as it is now.
    static func now() throws -> Self {
        trimHeap()
        guard let bytes = [UInt8](file: "/proc/self/status", limit: 1 << 16) else {
            throw CocoaError(.fileReadUnknown)
        }
        let status = String(decoding: bytes, as: UTF8.self)
        func number(_ name: String) -> Int64 {
            let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
            return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int64($0) } ?? 0
        }
        return Self(
            residentBytes: number("VmRSS") * 1024, descriptors: try openDescriptors().count,
            threads: Int(number("Threads")))
    }

    /// What each open descriptor leads to.
    static func openDescriptors() throws -> [String] {
        let path = "/proc/self/fd"
        // The one through which the directory is read leads nowhere any more.
        return try FileManager.default.contentsOfDirectory(atPath: path).compactMap { number in
            try? FileManager.default.destinationOfSymbolicLink(atPath: "\(path)/\(number)")
        }.sorted()
    }

    // Memory that was freed stays resident until glibc is asked for it, so the reading would say how much was once used.
    private static func trimHeap() {
        typealias Trim = @convention(c) (Int) -> CInt
        guard let symbol = dlsym(nil, "malloc_trim") else { return }
        _ = unsafeBitCast(symbol, to: Trim.self)(0)
    }
}
#endif
