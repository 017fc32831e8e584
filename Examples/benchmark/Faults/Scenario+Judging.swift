internal import AsyncDownloads
internal import ConformanceRows
internal import LoopbackServer

extension Scenario {
    /// The engine that this package uses by default.
    private static var defaultEngine: Downloader.TransportChoice {
        #if canImport(Darwin)
        .urlSession
        #else
        .nio
        #endif
    }

    /// The reason why programs cannot be compared with this row; nil if they can.
    var reasonForOmission: String? {
        if let reason = impossible[Self.defaultEngine] { return reason }
        if resource.coding != nil {
            return "The right bytes depend on the content codings that the program requests and decodes."
        }
        return nil
    }

    /// Whether the server offers the file.
    var expectsFile: Bool {
        switch outcome {
        case .file, .coded: true
        case .failure: false
        }
    }

    /// The bytes of the right file; if the row expects an error, the bytes that the resource would have.
    var rightBody: Resource.Body {
        switch outcome {
        case .file(let content): .content(content)
        case .coded(let bytes, of: _): .bytes(bytes)
        case .failure: resource.body
        }
    }

    /// Returns whether a program that has failed is run again.
    ///
    /// If an error is expected, it is run again only until the server has sent the last response of its script.
    func permitsRun(after runCount: Int, requestCount: Int) -> Bool {
        runCount < FaultTrial.maximumRunCount && (expectsFile || requestCount < resource.script.count)
    }
}
