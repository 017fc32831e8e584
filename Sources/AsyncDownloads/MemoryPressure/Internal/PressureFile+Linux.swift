#if os(Linux)
internal import struct Foundation.Data

/// A file that can be polled for memory pressure.
struct PressureFile: Sendable, Hashable {
    /// What to write into a descriptor of its own, and what it means when that one signals.
    struct Trigger: Sendable, Hashable {
        var bytes: [UInt8]
        var level: MemoryPressure
    }

    var path: String
    /// The first has to be accepted; the others are left out if they are not, or if the file is not the kernel's.
    var triggers: [Trigger]

    /// The files to try, in this order; none when the service manager wants nothing to be watched.
    ///
    /// A variable that makes no sense counts as if it were not there.
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

    /// A file of pressure stall information, with the triggers of this package.
    static func kernel(_ path: String) -> PressureFile {
        PressureFile(path: path, triggers: [.some, .full])
    }

    // https://systemd.io/PRESSURE
    private static func named(_ path: String, write: String?) -> PressureFile? {
        guard path.hasPrefix("/"), let data = Data(base64Encoded: write ?? "") else { return nil }
        var triggers = [Trigger(bytes: [UInt8](data), level: .warning)]
        // The interface knows one degree. What speaks the kernel's language can tell of the other one too.
        if data.starts(with: "some ".utf8) { triggers.append(.full) }
        return PressureFile(path: path, triggers: triggers)
    }
}

// Microseconds of waiting, in a window of so many. Other windows than multiples of two seconds need a capability.
extension PressureFile.Trigger {
    /// Some tasks waited for memory.
    static let some = Self("some 150000 2000000", .warning)

    /// All tasks that had something to do waited for memory.
    ///
    /// In a group of one busy process all wait whenever some do. So this has to be much more than the other, or every
    /// warning would be critical.
    static let full = Self("full 500000 2000000", .critical)

    private init(_ text: String, _ level: MemoryPressure) {
        // The kernel overwrites the last byte by a zero.
        self.init(bytes: Array(text.utf8) + [0], level: level)
    }
}
#endif
