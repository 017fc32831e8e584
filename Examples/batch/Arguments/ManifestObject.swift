internal import AsyncDownloads
internal import Foundation

/// A line of a manifest in the form of JSON Lines.
///
///     {"url":"https://example.org/a.bin","out":"sub/a.bin","sha256":"9f86d08…","size":1048576}
///
/// The members besides `url` are optional: `out`, `sha256`, `headers` (an object of texts), `mirrors` (an array of URLs), and
/// `size`, the number of bytes. Any other member is an error.
struct ManifestObject: Sendable, Hashable {
    private enum Member: String, CodingKey, CaseIterable {
        case url, out, sha256, headers, mirrors, size
    }

    private struct AnyMember: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    private let url: String
    private let out: String?
    private let sha256: String?
    private let headers: [String: String]
    private let mirrors: [String]
    private let size: Int64?

    init(_ text: String) throws(Misuse) {
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(text.utf8))
        } catch let misuse as Misuse {
            throw misuse
        } catch DecodingError.keyNotFound(let key, _) {
            throw Misuse("the member \(key.stringValue) is missing")
        } catch DecodingError.typeMismatch(_, let context) {
            throw Misuse("the member \(Self.name(context)) has the wrong type")
        } catch DecodingError.dataCorrupted(let context) where !context.codingPath.isEmpty {
            throw Misuse("the member \(Self.name(context)) has an invalid value")
        } catch {
            throw Misuse("not a valid JSON object")
        }
    }

    /// Returns the download that the object describes.
    func item(base: BaseAddress?) throws(Misuse) -> Item {
        var item = Item(address: try Address(url, base: base))
        for mirror in mirrors { item.mirrors.append(try Address(mirror, base: base)) }
        if let out { item.output = try OutputName(out) }
        if let sha256 { item.checksum = try Checksum(argument: "sha-256=\(sha256)") }
        // The members of an object have no order.
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            item.headers.append(try HeaderLine("\(name): \(value)"))
        }
        if let size {
            guard size >= 0 else { throw Misuse("the member size is negative") }
            item.byteCount = size
        }
        return item
    }

    private static func name(_ context: DecodingError.Context) -> String {
        context.codingPath.first.flatMap { Member(rawValue: $0.stringValue) }?.rawValue ?? "of the object"
    }
}

extension ManifestObject: Decodable {
    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: AnyMember.self).allKeys
        if members.contains(where: { Member(rawValue: $0.stringValue) == nil }) {
            let names = Member.allCases.map(\.rawValue).joined(separator: ", ")
            throw Misuse("a member is not supported; the members are \(names)")
        }
        let container = try decoder.container(keyedBy: Member.self)
        url = try container.decode(String.self, forKey: .url)
        out = try container.decodeIfPresent(String.self, forKey: .out)
        sha256 = try container.decodeIfPresent(String.self, forKey: .sha256)
        headers = try container.decodeIfPresent([String: String].self, forKey: .headers) ?? [:]
        mirrors = try container.decodeIfPresent([String].self, forKey: .mirrors) ?? []
        size = try container.decodeIfPresent(Int64.self, forKey: .size)
    }
}
