@testable import AsyncDownloads

/// Transfers with several exchanges.
extension StateMachineHarness {
    static let mebibyte: Int64 = 1 << 20

    /// A transfer of 16 MiB whose first exchange has received 1000 bytes, and whose extra exchanges were sent.
    static func divided(
        _ count: Int = 4, _ change: (inout TransferSettings) -> Void = { _ in }
    ) -> StateMachineHarness {
        var harness = StateMachineHarness.connecting {
            $0.connections = .fixed(count)
            change(&$0)
        }
        harness.head(200, ["Content-Length": "\(16 * mebibyte)", "ETag": "\"v1\""])
        harness.bytes(1000)
        return harness
    }

    /// The fields of the response to the request of an exchange, of a file of 16 MiB.
    func part(_ id: ExchangeID, tag: String = "\"v1\"") -> HeaderFields {
        let range = machine.exchanges[id]?.request.range
        let last = min(range?.last ?? .max, 16 * Self.mebibyte - 1)
        return ["Content-Range": "bytes \(range?.first ?? 0)-\(last)/\(16 * Self.mebibyte)", "ETag": tag]
    }

    mutating func accept(_ id: ExchangeID) {
        head(206, part(id), of: id)
    }

    /// Makes the exchange receive all bytes of its segment.
    mutating func complete(_ id: ExchangeID) {
        while let open = machine.exchanges.segment(of: id)?.openRange, !open.isEmpty {
            bytes(Int(min(open.upperBound - open.lowerBound, Self.mebibyte)), of: id)
        }
    }

    /// Ends an exchange with a failure of its connection.
    mutating func lose(_ id: ExchangeID, _ code: DownloadError.Code = .connectionLost) {
        end(.failed(DownloadError(code)), of: id)
    }
}
