internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests with a checkpoint file in which any one byte is wrong, or which ends at any byte (rule 39).
@Suite("Every byte of a checkpoint file", .endsWhenHung)
struct EveryByteTests {
    /// The damage at one byte.
    enum Damage: CaseIterable, Sendable {
        case cut, zeroed, inverted, counted

        func apply(to bytes: inout [UInt8], at index: Int) {
            switch self {
            case .cut: bytes.removeSubrange(index...)
            case .zeroed: bytes[index] = 0
            case .inverted: bytes[index] = ~bytes[index]
            case .counted: bytes[index] &+= 1
            }
        }
    }

    @Test(arguments: Damage.allCases)
    func `rule 39: damage is a restart with its reason or changes nothing`(damage: Damage) async throws {
        let system = SimulatedFileSystem(CrashTests.freshDisk(), behavior: .init(remembers: false))
        let partial = try store(on: system).open(.sample(in: "/location"))
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<300)
        try partial.save(IntervalSet(0..<300))
        try partial.write(.first, 300..<500)
        partial.mark(IntervalSet(0..<500))
        partial.close()

        let disk = system.disk
        let node = try #require(disk.names[PartialNames(.sample(in: "/location")).checkpoint])
        let whole = try #require(disk.nodes[node]?.bytes)
        let lineEnd = try #require(whole.firstIndex(of: UInt8(ascii: "\n")))
        let markEnd = try #require(whole.lastIndex(of: UInt8(ascii: "\n")))
        var seen: Set<Outcome> = []
        for index in whole.indices where Self.isWorthDamaging(index, of: whole) {
            // Gives tests of other suites a turn.
            await Task.yield()
            var damaged = disk
            damage.apply(to: &damaged.nodes[node, default: .init(number: 0)].bytes, at: index)
            let isChanged = damaged.nodes[node]?.bytes != whole
            let finding = try Outcome(store(on: SimulatedFileSystem(damaged, behavior: .init(remembers: false))))
            seen.insert(finding)
            if index <= lineEnd, isChanged {
                #expect(finding == .corrupt || finding == .otherVersion, "byte \(index)")
            } else if index > markEnd {
                #expect(finding == .marked, "byte \(index)")
            } else {
                #expect(finding == .marked || finding == .saved, "byte \(index)")
            }
        }
        #expect(seen.isSuperset(of: [.corrupt, .saved, .marked]))
        #expect(seen.contains(.otherVersion) == (damage == .counted), "incremented, the version is another digit")
    }

    /// Whether the byte is not one of the many in the middle of a padding.
    private static func isWorthDamaging(_ index: Int, of bytes: [UInt8]) -> Bool {
        let neighbors = bytes[max(0, index - 2)..<min(bytes.count, index + 3)]
        return index.isMultiple(of: 61) || neighbors.count < 5 || neighbors.contains { $0 != bytes[index] }
    }

    /// The result of opening the partial.
    enum Outcome: Hashable {
        case corrupt, otherVersion, saved, marked, wrong

        init(_ store: PartialStore) throws {
            let partial = try store.open(.sample(in: "/location"))
            switch partial.finding {
            case .unusable(.checkpointCorrupt, _): self = .corrupt
            case .unusable(.checkpointVersion, _): self = .otherVersion
            case .bytes(SampleObject.first.representation, IntervalSet(0..<300)): self = .saved
            case .bytes(SampleObject.first.representation, IntervalSet(0..<500)): self = .marked
            default: self = .wrong
            }
        }
    }

    private func store(on disk: SimulatedFileSystem) -> PartialStore {
        PartialStore(disk: disk, durability: .powerLoss, bootID: "boot")
    }
}
