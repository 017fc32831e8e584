/// The binary form of a record.
///
///     version     1 byte
///     CRC-32      4 bytes, of the inode number and of all bytes that follow
///     form        1 byte, which states which of the following fields exist, and their form
///     resource    12 bytes
///     length      1 to 9 bytes, seven bits in each
///     time        8 bytes, the modification time
///     session     8 bytes, if the file was not synced
///     validator   its length and its text, or a shorter form of it
///     media type  its number in a table, or its length and its text
///
/// Numbers are little-endian. On ext4, a value of at most 56 bytes is stored in the inode of the file, and a longer
/// value takes a block. Therefore, the quotation marks of a tag are omitted, pairs of hexadecimal digits take one byte,
/// a date is a number, and frequent media types have numbers. The inode number is not stored, but if the value is
/// copied to another file, the CRC-32 is wrong there.
extension FinishedFileRecord {
    /// The length of the longest value that takes no block on ext4.
    static let shortLength = 56

    private static let version: UInt8 = 1

    /// The bits of the form byte.
    private enum Form {
        static let validator: UInt8 = 0b0000_0111
        static let hasSession: UInt8 = 0b0000_1000
        static let numberedType: UInt8 = 0b0001_0000
        static let textType: UInt8 = 0b0010_0000
        static let known: UInt8 = validator | hasSession | numberedType | textType
    }

    private enum ValidatorForm: UInt8 {
        case none, tag, hexadecimalTag, date, dateText
    }

    /// Returns the value of the attribute for the file with this inode number.
    func encoded(inode: UInt64) -> [UInt8] {
        var (form, rest) = (UInt8(0), resource.bytes)
        rest.append(number: UInt64(length))
        rest.append(littleEndian: UInt64(bitPattern: modificationTime))
        if let session {
            form |= Form.hasSession
            rest += session.bytes
        }
        let (validatorForm, text) = encodedValidator
        form |= validatorForm.rawValue
        rest += text
        if let contentType {
            if let number = Self.frequentTypes.firstIndex(of: contentType) {
                form |= Form.numberedType
                rest.append(UInt8(number))
            } else {
                form |= Form.textType
                rest.append(text: contentType.utf8)
            }
        }
        rest.insert(form, at: 0)
        var value = [Self.version]
        value.append(littleEndian: Self.check(rest, inode))
        return value + rest
    }

    /// Parses the attribute of the file with this inode number; nil if it is damaged or belongs to another file.
    init?(_ value: [UInt8], inode: UInt64) {
        var rest = value[...]
        guard rest.popFirst() == Self.version, let check = rest.takeLittleEndian(UInt32.self),
            check == Self.check(rest, inode), let form = rest.popFirst(), form & ~Form.known == 0,
            let resource = rest.take(ResourceDigest.byteCount), let length = rest.takeNumber(),
            let time = rest.takeLittleEndian(UInt64.self)
        else { return nil }
        self.init(
            resource: ResourceDigest(bytes: resource), length: length, modificationTime: Int64(bitPattern: time))
        if form & Form.hasSession != 0 {
            guard let session = rest.take(SessionDigest.byteCount) else { return nil }
            self.session = SessionDigest(bytes: session)
        }
        guard let validatorForm = ValidatorForm(rawValue: form & Form.validator),
            let validator = Self.takeValidator(validatorForm, &rest)
        else { return nil }
        self.validator = validator
        switch (form & Form.numberedType != 0, form & Form.textType != 0) {
        case (false, false): break
        case (true, true): return nil
        case (true, false):
            guard let number = rest.popFirst(), Int(number) < Self.frequentTypes.count else { return nil }
            contentType = Self.frequentTypes[Int(number)]
        case (false, true):
            guard let text = rest.takeText() else { return nil }
            contentType = text
        }
        guard rest.isEmpty else { return nil }
    }

    private static func check(_ rest: some Sequence<UInt8>, _ inode: UInt64) -> UInt32 {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: inode)
        return CRC32.value(of: bytes + rest)
    }

    // MARK: - Validators

    private var encodedValidator: (ValidatorForm, [UInt8]) {
        var bytes: [UInt8] = []
        switch validator {
        case nil:
            return (.none, bytes)
        case .entityTag(let tag):
            let opaque = Array(tag.rawValue.utf8.dropFirst().dropLast())
            if let packed = Self.packed(opaque) {
                bytes.append(text: packed)
                return (.hexadecimalTag, bytes)
            }
            bytes.append(text: opaque)
            return (.tag, bytes)
        case .lastModified(let text):
            if let date = HTTPDate(text), date.headerValue.hasSameBytes(as: text), date.secondsSinceEpoch >= 0 {
                bytes.append(number: UInt64(date.secondsSinceEpoch))
                return (.date, bytes)
            }
            bytes.append(text: text.utf8)
            return (.dateText, bytes)
        }
    }

    /// Reads a validator, which may be absent; nil if it is damaged.
    private static func takeValidator(_ form: ValidatorForm, _ rest: inout ArraySlice<UInt8>) -> Validator?? {
        switch form {
        case .none:
            return .some(nil)
        case .tag, .hexadecimalTag:
            guard let count = rest.takeNumber(), let bytes = rest.take(Int(clamping: count)) else { return nil }
            let digits = form == .tag ? String(wellFormedUTF8: Array(bytes)) : hexadecimal(bytes)
            guard let digits, let tag = EntityTag("\"\(digits)\""), !tag.isWeak else { return nil }
            return .entityTag(tag)
        case .date:
            guard let seconds = rest.takeNumber() else { return nil }
            let date = HTTPDate(secondsSinceEpoch: seconds)
            return date.secondsSinceEpoch == seconds ? .lastModified(date.headerValue) : nil
        case .dateText:
            guard let text = rest.takeText(), case .lastModified? = Validator(rawValue: text) else { return nil }
            return .lastModified(text)
        }
    }

    /// Returns the bytes that an even number of lowercase hexadecimal digits represents; nil for any other text.
    private static func packed(_ text: [UInt8]) -> [UInt8]? {
        guard !text.isEmpty, text.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: text.count, by: 2) {
            guard let high = digit(text[index]), let low = digit(text[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func digit(_ character: UInt8) -> UInt8? {
        UInt8(ascii: "A")...UInt8(ascii: "F") ~= character ? nil : character.hexDigitValue
    }

    /// The media types that are recorded as a number; the order belongs to the format.
    private static let frequentTypes = [
        "application/octet-stream", "binary/octet-stream", "application/zip", "application/gzip",
        "application/x-gzip", "application/x-tar", "application/x-xz", "application/zstd", "application/pdf",
        "application/json", "application/xml", "application/javascript", "application/vnd.debian.binary-package",
        "application/x-debian-package", "application/x-rpm", "application/java-archive", "application/wasm",
        "text/plain", "text/plain; charset=utf-8", "text/html", "text/html; charset=utf-8", "text/css",
        "text/csv", "text/javascript", "text/xml", "image/jpeg", "image/png", "image/gif", "image/webp",
        "image/avif", "image/svg+xml", "image/tiff", "audio/mpeg", "audio/mp4", "audio/ogg", "audio/wav",
        "video/mp4", "video/webm", "video/mp2t", "video/quicktime", "font/woff2",
    ]
}

extension [UInt8] {
    fileprivate mutating func append(littleEndian number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }

    fileprivate mutating func append(number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    fileprivate mutating func append(text: some Collection<UInt8>) {
        append(number: UInt64(text.count))
        self += text
    }
}

extension ArraySlice<UInt8> {
    fileprivate mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count <= self.count else { return nil }
        defer { removeFirst(count) }
        return prefix(count)
    }

    fileprivate mutating func takeLittleEndian<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
        take(MemoryLayout<Number>.size)?.reversed().reduce(0) { $0 << 8 | Number($1) }
    }

    fileprivate mutating func takeNumber() -> Int64? {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 63, by: 7) {
            guard let byte = popFirst() else { return nil }
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return Int64(number) }
        }
        return nil
    }

    fileprivate mutating func takeText() -> String? {
        guard let count = takeNumber(), let bytes = take(Int(clamping: count)) else { return nil }
        return String(wellFormedUTF8: Array(bytes))
    }
}
