internal import Foundation

/// A manifest that is open for reading: a file, a pipe, or standard input, in plain text or compressed with gzip.
final class ManifestInput {
    /// The result of waiting for the next bytes.
    enum Piece {
        case bytes
        /// No bytes have arrived within the time.
        case none
        case end
    }

    private static let pieceLength = 1 << 14

    private let descriptor: Int32
    private let closesDescriptor: Bool
    private var splitter = LineSplitter()
    private var gunzip: Gunzip?
    private var isFirst = true
    private var piece: [UInt8] = []

    /// Opens the file at `path`; a hyphen means standard input.
    ///
    /// Opening a FIFO waits for a process that writes to it.
    init(opening path: String) throws(Misuse) {
        (descriptor, closesDescriptor) = path == "-" ? (STDIN_FILENO, false) : (open(path, O_RDONLY | O_CLOEXEC), true)
        guard descriptor >= 0 else { throw Self.failure(errno) }
    }

    deinit {
        if closesDescriptor { close(descriptor) }
    }

    /// Returns the next line of the bytes that have been received.
    func nextLine() -> ArraySlice<UInt8>? { splitter.next() }

    /// Whether the bytes after the last complete line are the start of an indented line.
    var isInsideIndentedLine: Bool {
        splitter.rest.first.map { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") } ?? false
    }

    /// Returns the rest after the last line.
    func lastLine() -> ArraySlice<UInt8>? { splitter.finish() }

    /// Receives the next bytes, and waits for them.
    ///
    /// - Parameter limit: The longest time to wait; nil for any time.
    func receive(within limit: Duration?) throws(Misuse) -> Piece {
        let milliseconds = limit.map { Int32(max(.zero, $0) / .milliseconds(1)) } ?? -1
        while true {
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = poll(&request, 1, milliseconds)
            if ready == 0 { return .none }
            if ready < 0, errno != EINTR { throw Self.failure(errno) }
            guard ready > 0, try readPiece() else { continue }
            if piece.isEmpty {
                try gunzip?.finish()
                return .end
            }
            try accept()
            return .bytes
        }
    }

    /// Reads the next bytes into `piece`, which is empty at the end; returns false if there are none yet.
    private func readPiece() throws(Misuse) -> Bool {
        var number: Int32 = 0
        piece = [UInt8](unsafeUninitializedCapacity: Self.pieceLength) { buffer, count in
            let result = read(descriptor, buffer.baseAddress, buffer.count)
            number = result < 0 ? errno : 0
            count = max(0, result)
        }
        if number == EINTR || number == EAGAIN { return false }
        if number != 0 { throw Self.failure(number) }
        // The two bytes that distinguish gzip data from text may arrive separately.
        while isFirst, piece.count == 1, piece[0] == Gunzip.magic[0] {
            var next: UInt8 = 0
            guard read(descriptor, &next, 1) == 1 else { break }
            piece.append(next)
        }
        return true
    }

    /// Adds the bytes in `piece` to the lines.
    private func accept() throws(Misuse) {
        if isFirst, piece.starts(with: Gunzip.magic) { gunzip = Gunzip() }
        isFirst = false
        guard let gunzip else { return try splitter.append(piece) }
        try gunzip.decode(&piece) { part throws(Misuse) in try splitter.append(part) }
    }

    private static func failure(_ number: Int32) -> Misuse {
        Misuse("cannot be read: \(String(cString: strerror(number)))")
    }
}
