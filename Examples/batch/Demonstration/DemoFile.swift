internal import AsyncDownloads
internal import Crypto
internal import Foundation
internal import LoopbackServer

/// A generated file of the demonstration, and the faults with which its server responds.
struct DemoFile: Sendable {
    /// A behavior that a special file demonstrates.
    enum Part: Sendable, Hashable, CaseIterable {
        case connectionLost, busy, sharedTransfer, pausedMidway, releasedFromMemory, canceledMidway
    }

    let name: String
    let content: Content
    var part: Part?
    var faults: [Fault] = []

    /// The offset at which the connection is lost, or the download is paused or canceled.
    ///
    /// It is less than 8 MiB, because an engine may request segments of that length.
    static let interruption: Int64 = 4 << 20

    /// The twenty files, whose lengths range from 1000 bytes to 64 MiB.
    static let all: [DemoFile] = {
        var lengths = (0...16).map { Int64(1024) << $0 }
        lengths += [1000, 1_000_003, 5_000_011]
        return lengths.enumerated().map { index, length in
            let content = Content(seed: UInt64(index + 1), length: length)
            return special(content) ?? DemoFile(name: String(format: "file-%02d.bin", index + 1), content: content)
        }
    }()

    /// The file that is downloaded into memory, released from memory during a pause, and continued.
    static let released = stalled("memory.bin", part: .releasedFromMemory, seed: 101)

    /// The file whose download is canceled and requested again.
    static let canceled = stalled("cancel.bin", part: .canceledMidway, seed: 102)

    private static func stalled(_ name: String, part: Part, seed: UInt64) -> DemoFile {
        DemoFile(
            name: name, content: Content(seed: seed, length: 2 * interruption), part: part,
            faults: [.stall(after: interruption)])
    }

    private static func special(_ content: Content) -> DemoFile? {
        switch content.length {
        case 2 << 20:
            DemoFile(name: "busy.bin", content: content, part: .busy, faults: [.retryAfter("1")])
        case 4 << 20:
            // The response is held back until both downloads have started.
            DemoFile(name: "shared.bin", content: content, part: .sharedTransfer, faults: [.holdHead])
        case 8 << 20:
            DemoFile(name: "lost.bin", content: content, part: .connectionLost, faults: [.cut(after: interruption)])
        case 16 << 20:
            DemoFile(name: "paused.bin", content: content, part: .pausedMidway, faults: [.stall(after: interruption)])
        // Throttled, so that the progress is visible.
        case (32 << 20)...:
            DemoFile(
                name: "large-\(content.length >> 20).bin", content: content,
                faults: [.throttle(bytesPerSecond: Int(content.length) / 3)])
        default: nil
        }
    }

    /// The resource for the server; the faults apply to the first request.
    var resource: Resource {
        Resource(content, entityTag: "\"\(content.seed)\"", script: faults.isEmpty ? [] : [Step(faults)])
    }

    /// Returns the items that download the file: one, or two for the demonstration of a shared transfer.
    func items(at url: String) throws(Misuse) -> [Item] {
        let address = try Address(url)
        let names = part == .sharedTransfer ? [name, "again-" + name] : [name]
        var items: [Item] = []
        for name in names {
            items.append(Item(address: address, output: try OutputName(name), checksum: checksum))
        }
        return items
    }

    private var checksum: Checksum {
        var hash = SHA256()
        var piece = [UInt8](repeating: 0, count: 1 << 20)
        for offset in stride(from: 0, to: content.length, by: piece.count) {
            let count = min(piece.count, Int(content.length - offset))
            piece.withUnsafeMutableBytes { piece in
                let part = UnsafeMutableRawBufferPointer(rebasing: piece[..<count])
                content.fill(part, from: offset)
                hash.update(bufferPointer: UnsafeRawBufferPointer(part))
            }
        }
        return .sha256(hash.finalize().map { String(format: "%02x", $0) }.joined())
    }
}
