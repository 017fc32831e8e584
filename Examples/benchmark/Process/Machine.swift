internal import Foundation

/// The machine on which the measurements are made.
enum Machine {
    /// The processors, the memory, and the system.
    static var description: String {
        let information = ProcessInfo.processInfo
        let processors = "\(information.activeProcessorCount) processors" + (processorModel.map { " (\($0))" } ?? "")
        return "\(processors), \(information.physicalMemory >> 30) GiB, \(information.operatingSystemVersionString)"
    }
}
