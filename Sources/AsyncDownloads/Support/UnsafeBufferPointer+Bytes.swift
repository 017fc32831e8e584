internal import Foundation

extension UnsafeBufferPointer<UInt8> {
    /// Returns whether the buffers have the same bytes.
    func hasSameBytes(as other: Self) -> Bool {
        guard count == other.count else { return false }
        guard count > 0, let start = baseAddress, let otherStart = other.baseAddress else { return true }
        return memcmp(start, otherStart, count) == 0
    }
}
