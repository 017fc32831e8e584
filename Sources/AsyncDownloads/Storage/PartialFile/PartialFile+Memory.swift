internal import Foundation

/// The bytes of an unfinished in-memory body, and their representation.
struct MemoryBody: Sendable {
    var representation: Representation
    private(set) var received = IntervalSet()
    private var bytes = Data()

    init(_ representation: Representation) {
        self.representation = representation
    }

    /// Whether a later request can continue the body.
    var isResumable: Bool {
        !received.isEmpty && representation.validator != nil && representation.contentCoding == nil
    }

    /// The memory that the body uses, in bytes.
    var byteCount: Int { bytes.count }

    /// Writes all of `source` at `offset`.
    mutating func write(_ source: UnsafeRawBufferPointer, at offset: Int64) {
        let start = Int(offset)
        defer { received.insert(offset..<offset + Int64(source.count)) }
        // Most small bodies arrive at once.
        if start == 0, bytes.isEmpty { return bytes = Data(source) }
        if start > bytes.count { bytes.append(Data(count: start - bytes.count)) }
        let end = min(bytes.count, start + source.count)
        if start < end {
            bytes.replaceSubrange(start..<end, with: UnsafeRawBufferPointer(rebasing: source[..<(end - start)]))
        }
        UnsafeRawBufferPointer(rebasing: source[(end - start)...]).withMemoryRebound(to: UInt8.self) { rest in
            bytes.append(rest)
        }
    }

    /// Discards the bytes that are not in `received`.
    mutating func rollBack(to received: IntervalSet) {
        self.received.formIntersection(received)
        bytes = bytes.prefix(Int(self.received.upperBound))
    }

    /// Copies up to `buffer.count` bytes from `offset`, and returns the number of copied bytes; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        let start = min(Int(offset), bytes.count)
        let count = min(buffer.count, bytes.count - start)
        if count > 0 { bytes.copyBytes(to: buffer, from: start..<start + count) }
        return count
    }

    /// Returns the first `length` bytes.
    func prefix(_ length: Int64) -> Data { bytes.prefix(Int(length)) }
}

extension MemoryBody {
    /// Writes the received bytes from `offset` on to `file`.
    func write(to file: OpenFile, from offset: Int64, on disk: any FileSystem) throws(FileFailure) {
        for range in received.ranges where range.upperBound > offset {
            let start = max(offset, range.lowerBound)
            let bytes = prefix(range.upperBound).dropFirst(Int(start))
            let result = bytes.withUnsafeBytes { buffer in
                Result { () throws(FileFailure) in try disk.write(buffer, to: file, at: start) }
            }
            try result.get()
        }
    }
}

/// The bytes in memory, and their move to a file.
extension PartialFile {
    /// The usual length up to which bytes are kept in ``Medium/lockedMemory``.
    ///
    /// If the process is killed, up to this many bytes are lost. Therefore, a body of unknown length that could be
    /// continued is not kept in memory.
    static let bufferedLength: Int64 = 64 << 10

    /// The maximum number of bytes in memory.
    private var memoryLimit: Int64 {
        switch medium {
        case .memory: .max
        case .lockedMemory: store.bufferedLength
        case .file: 0
        }
    }

    /// Begins a representation in memory; returns false if its bytes have to be in a file.
    func beginInMemory(
        _ representation: Representation, _ credentials: HeaderFields?
    ) throws(FileFailure) -> Bool {
        try withState { state throws(FileFailure) in
            switch medium {
            case .file: return false
            case .lockedMemory:
                (state.body, state.marked) = (nil, nil)
                guard representation.length.map({ $0 <= store.bufferedLength }) ?? !representation.isProvable else {
                    moved { $0.medium = .file }
                    return false
                }
            case .memory: break
            }
            if let failure = state.failure { throw failure }
            state.body = MemoryBody(representation)
            state.bodyNumber += 1
            state.marked = nil
            if let credentials { state.secretHeaders = credentials }
            (state.provenHeaders, state.isMixed) = (state.secretHeaders, false)
            return true
        }
    }

    /// Writes the bytes to memory; returns false if they have to be in a file.
    func writeToMemory(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileFailure) -> Bool {
        let limit = memoryLimit
        guard offset + Int64(bytes.count) <= limit else { return false }
        return try withState { state throws(FileFailure) in
            guard state.body != nil else { return false }
            if let failure = state.failure { throw failure }
            state.body?.write(bytes, at: offset)
            return true
        }
    }
}
