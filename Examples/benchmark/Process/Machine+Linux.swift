#if !canImport(Darwin)
internal import Foundation

extension Machine {
    /// The model of the processors, if the system names it.
    static var processorModel: String? {
        guard let bytes = [UInt8](file: "/proc/cpuinfo", limit: 1 << 16) else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        return lines.first { $0.hasPrefix("model name") }?.split(separator: ":").last
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// Whether all addresses that begin with 127 lead to this machine.
    static var hasLoopbackNetwork: Bool { true }

    /// Returns the peak of the resident memory of a running process in bytes; nil if it has ended.
    static func peakBytes(of process: Int32) -> Int64? {
        guard let bytes = [UInt8](file: "/proc/\(process)/status", limit: 1 << 14) else { return nil }
        let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int64($0) }.map { $0 << 10 }
    }
}
#endif
