@testable import AsyncDownloads

extension SimulatedFileSystem {
    /// A failure of one change.
    struct Fault: Sendable {
        /// The index of the change, counted from 0.
        var change: Int
        var kind: FileFailure.Kind
    }

    enum Locks: Sendable {
        case working
        /// Every attempt succeeds, as if each process had another lock file.
        case pretended
        /// The first attempt succeeds and the others are not supported, as if they were made on a network volume that the
        /// first machine serves.
        case firstOnly
        /// The file system does not support locks.
        case missing
    }

    /// The behavior of the file system.
    struct Behavior: Sendable {
        var locks = Locks.working
        var volume = VolumeKind.disk
        /// Whether the state is recorded after each change.
        var remembers = true
        var fault: Fault?
        /// A closure that is called before the change with that index, without a lock held.
        var interruption: (change: Int, body: @Sendable () -> Void)?
    }
}
