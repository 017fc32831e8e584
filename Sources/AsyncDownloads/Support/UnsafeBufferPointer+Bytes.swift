extension UnsafeBufferPointer<UInt8> {
    /// Returns whether the buffers have the same bytes.
    func hasSameBytes(as other: Self) -> Bool {
        guard count == other.count else { return false }
        for index in indices where self[index] != other[index] { return false }
        return true
    }
}
