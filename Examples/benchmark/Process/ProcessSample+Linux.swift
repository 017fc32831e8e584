#if !canImport(Darwin)
internal import Foundation

extension ProcessSample {
    /// Returns the current resource usage of the process, after it has released free memory to the system.
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

    /// Returns the sorted targets of the open descriptors.
    static func openDescriptors() throws -> [String] {
        let path = "/proc/self/fd"
        // The listing contains the descriptor of the directory itself, which is closed by now and has no target.
        return try FileManager.default.contentsOfDirectory(atPath: path).compactMap { number in
            try? FileManager.default.destinationOfSymbolicLink(atPath: "\(path)/\(number)")
        }.sorted()
    }

    // Without this call, glibc keeps freed memory resident, and a sample would show the peak of earlier usage.
    private static func trimHeap() {
        typealias Trim = @convention(c) (Int) -> CInt
        guard let symbol = dlsym(nil, "malloc_trim") else { return }
        _ = unsafeBitCast(symbol, to: Trim.self)(0)
    }
}
#endif
