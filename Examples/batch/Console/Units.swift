internal import Foundation

/// Human-readable forms of numbers.
enum Units {
    private static let names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

    /// Returns a number of bytes in at most nine columns: `512 B`, `1.5 KiB`, `1023 MiB`.
    static func bytes(_ count: Int64) -> String {
        var value = Double(max(0, count))
        var unit = 0
        while value >= 1023.5, unit < names.count - 1 {
            value /= 1024
            unit += 1
        }
        let digits = unit == 0 || value >= 99.95 ? 0 : 1
        return String(format: "%.\(digits)f ", value) + names[unit]
    }

    /// Returns a speed such as `12.3 MiB/s`, or an empty string if the speed is unknown or less than 1 B/s.
    static func speed(_ bytesPerSecond: Double?) -> String {
        guard let bytesPerSecond, bytesPerSecond.isFinite, bytesPerSecond >= 1 else { return "" }
        return bytes(Int64(min(bytesPerSecond, 1e18))) + "/s"
    }

    /// Returns a duration in at most eight columns: `0:05`, `12:34`, `1:02:03`, `4d 03h`.
    static func clock(_ duration: Duration) -> String {
        let seconds = max(0, duration.components.seconds)
        let (minutes, hours) = (seconds / 60, seconds / 3600)
        if hours == 0 { return String(format: "%d:%02d", minutes, seconds % 60) }
        if hours < 100 { return String(format: "%d:%02d:%02d", hours, minutes % 60, seconds % 60) }
        return hours / 24 < 1000 ? String(format: "%dd %02dh", hours / 24, hours % 24) : "> 1000 d"
    }

    /// Returns a duration such as `0.4 s` or `12.3 s`, and from a minute on in the form of ``clock(_:)``.
    static func seconds(_ duration: Duration) -> String {
        let seconds = duration / .seconds(1)
        return seconds < 59.95 ? String(format: "%.1f s", max(0, seconds)) : clock(duration)
    }

    /// Returns a number and a noun, such as `1 file` or `2 files`.
    static func count(_ count: Int, _ noun: String) -> String {
        "\(count) \(noun)\(count == 1 ? "" : "s")"
    }
}
