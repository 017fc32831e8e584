/// The failure of a system call or of a check before it.
package struct FileFailure: Error, Sendable, Hashable {
    /// The kinds of failure that the store distinguishes, independent of the system's error numbers.
    package enum Kind: Sendable, Hashable {
        /// No file has this name.
        case missing
        /// A file already has this name.
        case exists
        /// The path leads through a file or a symbolic link, refers to a directory, or is too long.
        case unusablePath
        /// The two paths are on different file systems.
        case crossDevice
        /// The space, the quota, or the limit on file sizes is exhausted.
        case noSpace
        /// The system denies permission, or the file system is read-only.
        case denied
        /// The process or the system has no more file descriptors.
        case tooManyOpenFiles
        /// Another owner has the file.
        case inUse
        /// The file system does not support the operation.
        case unsupported
        /// Any other failure, such as an input or output error.
        case other
    }

    /// The kind of the failure.
    package var kind: Kind
    /// The system's error number, or 0.
    package var errno: Int32
    /// The failed operation, as a verb phrase.
    package var operation: String
    /// The last component of the path in question, never the whole path.
    package var name: String
    /// The reason as stated by the store; nil for the system's description of ``errno``.
    private let ownReason: String?

    /// Creates a failure.
    ///
    /// - Parameter reason: The reason; nil for the system's description of `errno`.
    package init(_ kind: Kind, errno: Int32, operation: String, name: String, reason: String? = nil) {
        self.kind = kind
        self.errno = errno
        self.operation = operation
        self.name = name
        ownReason = reason
    }

    /// The reason, as stated by the system or the store.
    ///
    /// The system's description is determined only here, because most failures are missing files, which aren't
    /// reported.
    package var reason: String { ownReason ?? SystemErrorText.text(errno) }
}

extension FileFailure: CustomStringConvertible {
    /// A one-line description for logs.
    package var description: String { "cannot \(operation) \(name): \(reason)" }
}

extension DownloadError {
    /// Creates the error that callers receive for a failed system call.
    init(_ failure: FileFailure) {
        self.init(Code(failure.kind), failure.description, underlyingError: failure)
    }
}

extension DownloadError.Code {
    fileprivate init(_ kind: FileFailure.Kind) {
        switch kind {
        case .noSpace: self = .diskFull
        case .denied: self = .permissionDenied
        case .exists: self = .destinationExists
        case .missing, .unusablePath: self = .destinationUnusable
        case .inUse: self = .partialInUse
        case .tooManyOpenFiles: self = .tooManyOpenFiles
        case .crossDevice, .unsupported, .other: self = .storageFailure
        }
    }
}
