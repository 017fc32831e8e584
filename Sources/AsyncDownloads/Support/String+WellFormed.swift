extension String {
    /// Creates a string from UTF-8, or returns `nil` if the bytes are not valid UTF-8.
    ///
    /// The standard library's `String(validating:as:)` needs iOS 18 and macOS 15.
    package init?(wellFormedUTF8 bytes: [UInt8]) {
        self.init(decoding: bytes, as: UTF8.self)
        // The decoder replaces what is invalid by U+FFFD, so only valid input is equal to its result.
        guard utf8.elementsEqual(bytes) else { return nil }
    }

    /// Creates a string from UTF-16 code units, or returns `nil` if a surrogate among them is not part of a pair.
    init?(wellFormedUTF16 codeUnits: some Collection<UInt16>) {
        self.init(decoding: codeUnits, as: UTF16.self)
        guard utf16.elementsEqual(codeUnits) else { return nil }
    }
}
