internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct ReceivedBytesTests {
    private func found(
        _ representation: Representation = .sample(), _ range: Range<Int64> = 0..<50, isChecksumExpected: Bool = false
    ) -> ReceivedBytes {
        var bytes = ReceivedBytes()
        bytes.found(representation, IntervalSet(range), isChecksumExpected: isChecksumExpected)
        return bytes
    }

    @Test func `bytes that were found are resumable and incomplete`() {
        let bytes = found()
        #expect(bytes.count == 50)
        #expect(bytes.isResumable && !bytes.isComplete && !bytes.reliesOnDigest)
        #expect(bytes.comparison == nil)
        #expect(found(.sample(), 0..<100).isComplete)
    }

    @Test func `the last byte of a complete body from another URL is withheld`() {
        var representation = Representation.sample()
        representation.cameFromDifferentURL = true
        #expect(found(representation, 0..<100).count == 99)
        #expect(found(representation, 0..<100, isChecksumExpected: true).count == 99)
    }

    @Test func `the last byte of a complete imported body is withheld unless a checksum is expected`() {
        var representation = Representation.sample()
        representation.isImported = true
        #expect(found(representation, 0..<100).count == 99)
        #expect(found(representation, 0..<100, isChecksumExpected: true).count == 100)
    }

    @Test func `bytes of other credentials are compared, or rely on the checksum`() {
        var representation = Representation.sample()
        representation.hasUnverifiedCredentials = true
        var bytes = found(representation)
        #expect(bytes.comparison?.next == 0..<50)
        #expect(bytes.compared(to: 20) == false)
        #expect(bytes.comparison?.next == 20..<50)
        #expect(bytes.compared(to: 50) == true)
        bytes.credentialsVerified(["Authorization": "b"])
        #expect(bytes.comparison == nil && bytes.representation?.hasUnverifiedCredentials == false)
        let checked = found(representation, isChecksumExpected: true)
        #expect(checked.comparison == nil && checked.reliesOnChecksum && checked.mayRestartUnverified)
    }

    @Test func `rule 9: every range is compared`() {
        var representation = Representation.sample()
        (representation.length, representation.hasUnverifiedCredentials) = (1 << 30, true)
        var received = IntervalSet(0..<200_000)
        received.insert(500_000..<500_010)
        received.insert(900_000..<1_100_000)
        var bytes = ReceivedBytes()
        bytes.found(representation, received, isChecksumExpected: false)
        var compared: [Range<Int64>] = []
        while let next = bytes.comparison?.next {
            compared.append(next)
            _ = bytes.compared(to: next.upperBound)
        }
        #expect(
            compared == [
                0..<65_536, 134_464..<200_000, 500_000..<500_010, 900_000..<965_536, 1_034_464..<1_100_000,
            ])
    }

    @Test func `a part of the bytes is rolled back, and the rest is kept`() {
        var bytes = found()
        #expect(bytes.rollBack(IntervalSet(10..<20)) == 10)
        #expect(bytes.intervals.ranges == [0..<10, 20..<50])
        #expect(bytes.rollBack(IntervalSet(10..<20)) == 0)
        #expect(bytes.epoch == 2)
    }

    @Test func `new credentials matter only where bytes have arrived`() {
        var bytes = ReceivedBytes()
        bytes.credentialsChanged(isChecksumExpected: false)
        #expect(bytes.comparison == nil)
        bytes = found()
        bytes.credentialsChanged(isChecksumExpected: false)
        #expect(bytes.comparison?.next == 0..<50)
    }

    @Test func `a failed write leaves no gap`() {
        var bytes = found()
        bytes.wrote(60..<70, counts: false)
        #expect(bytes.count == 50 && bytes.isPartialFilled)
        bytes.wrote(50..<60, counts: true)
        #expect(bytes.intervals == IntervalSet(0..<60))
        bytes.partialEmptied()
        #expect(!bytes.isPartialFilled)
    }

    @Test func `discarded and rolled-back bytes are counted once`() {
        var bytes = found()
        #expect(bytes.rollBack(to: 30) == 20)
        #expect(bytes.rollBack(to: 40) == 0)
        #expect(bytes.discard() == 30)
        #expect(bytes.discard() == 0)
        #expect(bytes.representation == nil)
    }

    @Test func `a digest decides on bytes under several validators once`() {
        var representation = Representation.sample()
        representation.unverifiedFrom = 20
        var bytes = found(representation)
        #expect(bytes.reliesOnDigest && bytes.mayRestartUnverified)
        bytes.digestMismatched()
        #expect(!bytes.mayRestartUnverified)
        #expect(bytes.takeUnverifiedStart() == 20)
        #expect(bytes.takeUnverifiedStart() == nil)
        #expect(!bytes.reliesOnDigest)
    }
}
