#if canImport(Darwin)
internal import Darwin
internal import Foundation

extension ProcessSample {
    /// Returns the current resource usage of the process, after it has released free memory to the system.
    static func now() throws -> Self {
        malloc_zone_pressure_relief(nil, 0)
        var task = proc_taskinfo()
        let size = Int32(MemoryLayout<proc_taskinfo>.size)
        guard proc_pidinfo(getpid(), PROC_PIDTASKINFO, 0, &task, size) == size else {
            throw CocoaError(.fileReadUnknown)
        }
        return Self(
            residentBytes: Int64(task.pti_resident_size), descriptors: try openDescriptors().count,
            threads: Int(task.pti_threadnum))
    }

    /// Returns the sorted numbers of the open descriptors.
    static func openDescriptors() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/dev/fd").sorted()
    }
}
#endif
