/// A call of the operating system that failed.
package struct FileFailure: Error, Sendable, Hashable {
    /// The failures that storage tells apart, whatever number a system gives them.
    package enum Kind: Sendable, Hashable {
        /// There is nothing of that name.
        case missing
        /// There is something of that name already.
        case exists
        /// The path leads through a file or a symbolic link, to a directory, or is too long.
        case unusablePath
        /// The two paths are on different file systems.
        case crossDevice
        /// No space, quota or size limit is left.
        case noSpace
        /// The system does not permit it, or the file system is read-only.
        case denied
        /// The process or the system has no descriptors left.
        case tooManyOpenFiles
        /// Another owner has it.
        case inUse
        /// The file system cannot do this at all.
        case unsupported
        /// Anything else, such as an input or output error.
        case other
    }

    /// What kind of failure it is.
    package var kind: Kind
    /// The system's number for it.
    package var errno: Int32
    /// The operation, as a verb.
    package var operation: String
    /// The last component of the path that it was about: never the whole path.
    package var name: String
    /// The system's words for it.
    package var reason: String

    package init(_ kind: Kind, errno: Int32, operation: String, name: String, reason: String) {
        self.kind = kind
        self.errno = errno
        self.operation = operation
        self.name = name
        self.reason = reason
    }
}

extension FileFailure: CustomStringConvertible {
    /// One line fit for a log.
    package var description: String { "cannot \(operation) \(name): \(reason)" }
}

extension DownloadError {
    /// The error that a caller sees for a failed call of the operating system.
    init(_ failure: FileFailure) {
        self.init(Code(failure.kind), failure.description, underlyingError: failure)
    }
}

extension DownloadError.Code {
    fileprivate init(_ kind: FileFailure.Kind) {
        switch kind {
        case .noSpace: self = .diskFull
        case .denied: self = .permissionDenied
        case .missing, .exists, .unusablePath: self = .destinationUnusable
        case .inUse: self = .partialInUse
        case .tooManyOpenFiles: self = .tooManyOpenFiles
        case .crossDevice, .unsupported, .other: self = .storageFailure
        }
    }
}
