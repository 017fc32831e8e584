@testable import AsyncDownloads

/// An object with known bytes: none of them is zero, and the two objects share no byte value.
enum SampleObject: CaseIterable, Sendable {
    case first
    case second

    static let length: Int64 = 1000

    var representation: Representation {
        Representation(
            finalURL: "https://cdn.example.com/\(self)", length: Self.length, contentType: "application/octet-stream")
    }

    /// Creates the object that the representation belongs to.
    init?(_ representation: Representation) {
        guard let object = Self.allCases.first(where: { $0.representation == representation }) else { return nil }
        self = object
    }

    func bytes(_ range: Range<Int64> = 0..<length) -> [UInt8] {
        let part = Int(range.lowerBound)..<Int(range.upperBound)
        return Array(self == .first ? Self.firstBytes[part] : Self.secondBytes[part])
    }

    private static let firstBytes = bytes(from: 1)
    private static let secondBytes = bytes(from: 128)

    private static func bytes(from first: UInt8) -> [UInt8] { (0..<2 * length).map { first + UInt8($0 % 127) } }
}

extension PartialLocation {
    /// Returns the location that the storage tests use.
    static func sample(in directory: String, checksum: String? = nil) -> Self {
        PartialLocation(
            directory: directory, baseName: "file.zip",
            request: RequestRecord(
                url: "https://example.com/file.zip", headers: [["Accept", "*/*"]], destination: "file.zip",
                checksum: checksum))
    }
}

extension ResourceKey: ExpressibleByStringInterpolation {
    /// Creates the key of a resource of this identity.
    public init(stringLiteral identity: String) {
        self.init(url: "", identity: identity, headers: [], account: nil)
    }
}

extension PartialFile {
    /// Writes the object's bytes in `range`.
    func write(_ object: SampleObject, _ range: Range<Int64>) throws(DownloadError) {
        let result = object.bytes(range).withUnsafeBytes { buffer in
            Result { () throws(DownloadError) in try write(buffer, at: range.lowerBound) }
        }
        try result.get()
    }

    /// Reads the bytes in `range`, or fewer if the file ends earlier.
    func bytes(_ range: Range<Int64>) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(range.upperBound - range.lowerBound))
        let count = try bytes.withUnsafeMutableBytes { try read(into: $0, at: range.lowerBound) }
        return Array(bytes[..<count])
    }

    /// Places the finished file at exactly each of `paths`.
    func place(at paths: [String], length: Int64) -> [Result<Void, DownloadError>] {
        place(at: paths.map { PlacementTarget(path: $0) }, length: length).map { $0.map { _ in } }
    }

    /// Prevents the deinitializer from cleaning up, which it wouldn't do in a process that is killed.
    func leak() { _ = Unmanaged.passRetained(self) }

    /// Writes the bytes of the object that `received` lacks, and places the file at `destination`.
    func finish(_ object: SampleObject, _ received: IntervalSet, at destination: String) throws {
        var received = received
        while let gap = received.firstGap(below: SampleObject.length) {
            try write(object, gap)
            received.insert(gap)
        }
        for result in place(at: [destination], length: SampleObject.length) { try result.get() }
    }
}
