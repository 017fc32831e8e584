#if os(Linux)
#if canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// An open file descriptor that signals memory pressure; its owner must close it.
struct PressureDescriptor: Sendable {
    let number: Int32
    /// The level that a signal indicates.
    let level: MemoryPressure
    /// Whether pressure is signaled by bytes to read and not by a condition.
    let carriesBytes: Bool

    /// Opens `file` once for each trigger, or only once if it isn't a kernel file, because others have one level only.
    static func open(_ file: PressureFile) throws(PressureFileFailure) -> [PressureDescriptor] {
        var opened: [PressureDescriptor] = []
        for trigger in file.triggers {
            do {
                opened.append(try open(file.path, trigger))
            } catch {
                if opened.isEmpty { throw error }
            }
            if opened.contains(where: \.carriesBytes) { break }
        }
        return opened
    }

    private static func open(
        _ path: String, _ trigger: PressureFile.Trigger
    ) throws(PressureFileFailure) -> PressureDescriptor {
        var information = stat()
        guard stat(path, &information) == 0 else { throw .last("examine", path) }
        switch information.st_mode & S_IFMT {
        case S_IFREG:
            let number = try open(path, trigger.bytes.isEmpty ? O_RDONLY : O_RDWR)
            try set(number, up: trigger.bytes, path) { write(number, $0.baseAddress, $0.count) }
            return Self(number: number, level: trigger.level, carriesBytes: false)
        case S_IFIFO:
            // The descriptor can also write, so the FIFO doesn't end when the last other writer closes it. The trigger
            // isn't written: the service manager doesn't read from the FIFO, and the bytes would come back to this
            // process as pressure.
            return Self(number: try open(path, O_RDWR), level: trigger.level, carriesBytes: true)
        case S_IFSOCK:
            let number = StreamSocket.connect(to: path)
            guard number >= 0 else { throw .last("connect to", path) }
            try set(number, up: trigger.bytes, path) { StreamSocket.send($0, to: number) }
            return Self(number: number, level: trigger.level, carriesBytes: true)
        default:
            throw PressureFileFailure("cannot watch \(path): not a file, FIFO, or socket")
        }
    }

    private static func open(_ path: String, _ mode: Int32) throws(PressureFileFailure) -> Int32 {
        let number = systemOpen(path, mode | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard number >= 0 else { throw .last("open", path) }
        return number
    }

    /// Writes all bytes in one call, as the kernel requires; if that fails, closes the descriptor and throws.
    private static func set(
        _ number: Int32, up bytes: [UInt8], _ path: String, write: (UnsafeRawBufferPointer) -> Int
    ) throws(PressureFileFailure) {
        guard !bytes.isEmpty, bytes.withUnsafeBytes(write) != bytes.count else { return }
        let failure = PressureFileFailure.last("write to", path)
        _ = systemClose(number)
        throw failure
    }
}

/// The reason why memory pressure can't be watched, in words that are fit for a log.
struct PressureFileFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    /// Returns a failure with the system's description of `errno`.
    static func last(_ operation: String, _ path: String) -> Self {
        Self("cannot \(operation) \(path): \(SystemErrorText.text(errno))")
    }
}
#endif
