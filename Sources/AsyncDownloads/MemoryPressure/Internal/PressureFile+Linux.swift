#if os(Linux)
internal import struct Foundation.Data

/// A file that can be polled for memory pressure.
struct PressureFile: Sendable, Hashable {
    /// The bytes that are written to a separate descriptor, and the level that a signal of that descriptor indicates.
    struct Trigger: Sendable, Hashable {
        var bytes: [UInt8]
        var level: MemoryPressure
    }

    var path: String
    /// The triggers of the file.
    ///
    /// The first must be accepted. The others are omitted if they aren't accepted, or if the file isn't a kernel file.
    var triggers: [Trigger]

    /// Returns the files to try, in order; empty if the service manager disables the watch.
    ///
    /// A variable with an invalid value is ignored.
    static func candidates(environment: [String: String], membership: String, mounts: String) -> [PressureFile] {
        var files: [PressureFile] = []
        if let path = environment["MEMORY_PRESSURE_WATCH"] {
            if path == "/dev/null" { return [] }
            files += [named(path, write: environment["MEMORY_PRESSURE_WRITE"])].compactMap(\.self)
        }
        if let directory = ControlGroup.directory(membership: membership, mounts: mounts) {
            files.append(kernel("\(directory)/memory.pressure"))
        }
        return files + [kernel("/proc/pressure/memory")]
    }

    /// Returns a file of pressure stall information with the triggers of this package.
    static func kernel(_ path: String) -> PressureFile {
        PressureFile(path: path, triggers: [.some, .full])
    }

    // The protocol of the service manager: https://systemd.io/PRESSURE
    private static func named(_ path: String, write: String?) -> PressureFile? {
        guard path.hasPrefix("/"), let data = Data(base64Encoded: write ?? "") else { return nil }
        var triggers = [Trigger(bytes: [UInt8](data), level: .warning)]
        // The protocol has one level only. A file that accepts the kernel's syntax can signal the other level as well.
        if data.starts(with: "some ".utf8) { triggers.append(.full) }
        return PressureFile(path: path, triggers: triggers)
    }
}

// A trigger contains a waiting time and a window in microseconds. A window that isn't a multiple of two seconds
// requires a capability.
extension PressureFile.Trigger {
    /// Some tasks waited for memory.
    static let some = Self("some 150000 2000000", .warning)

    /// All tasks that had work to do waited for memory.
    ///
    /// In a group with one busy process, all tasks wait whenever some do. The waiting time must therefore be much
    /// longer than the time of ``some``, or every warning would be critical.
    static let full = Self("full 500000 2000000", .critical)

    private init(_ text: String, _ level: MemoryPressure) {
        // The kernel overwrites the last byte with a zero.
        self.init(bytes: Array(text.utf8) + [0], level: level)
    }
}
#endif
