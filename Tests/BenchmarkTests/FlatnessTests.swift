import TestSupport
import Testing

@testable import benchmark

/// Tests of the evaluation of ten samples of memory.
@Suite(.endsWhenHung) struct FlatnessTests {
    @Test(arguments: [
        (samples: [60, 90, 90, 90, 90, 90, 90, 90, 90, 90], isFlat: true),
        (samples: [60, 90, 91, 92, 93, 94, 95, 96, 97, 98], isFlat: true),
        // A single outlier is ignored.
        (samples: [60, 90, 90, 90, 90, 90, 90, 90, 150, 90], isFlat: true),
        (samples: [60, 90, 20, 90, 90, 90, 90, 90, 90, 90], isFlat: true),
        // A decrease is not a leak.
        (samples: [90, 90, 90, 90, 80, 70, 60, 50, 50, 50], isFlat: true),
        (samples: [60, 80, 84, 88, 92, 96, 100, 104, 108, 112], isFlat: false),
        (samples: [60, 90, 90, 90, 90, 90, 90, 90, 150, 150], isFlat: false),
    ])
    func `memory is flat if the late samples are not above the early ones`(_ row: (samples: [Int64], isFlat: Bool)) {
        #expect(Flatness(row.samples.map { $0 << 20 }).isFlat == row.isFlat)
    }

    @Test func `an increase of a tenth is allowed, but at least 8 MiB`() {
        #expect(Flatness(Array(repeating: 20 << 20, count: 10)).allowed == 8 << 20)
        #expect(Flatness(Array(repeating: 200 << 20, count: 10)).allowed == 20 << 20)
    }
}
