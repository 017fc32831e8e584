import AsyncDownloads
import Foundation
import LoopbackServer

/// A transport that sends the requests to `files.example`, and to hosts below it, to the port of the test's server.
///
/// Requests to 127.0.0.1 need no network, and have the same origin as the server.
struct RenamedServerTransport: Transport {
    let base: any Transport

    var windowLength: Int64? { base.windowLength }
    var decodesContent: Bool { base.decodesContent }

    func start(
        _ request: ExchangeRequest, beside neighbor: (any Exchange)?, handler: any ExchangeHandler
    ) -> any Exchange {
        var request = request
        if var components = URLComponents(url: request.url, resolvingAgainstBaseURL: true),
            components.host?.hasSuffix("files.example") == true
        {
            components.host = "127.0.0.1"
            request.url = components.url ?? request.url
        }
        return base.start(request, beside: neighbor, handler: handler)
    }

    func shutdown() async { await base.shutdown() }
}

extension TestEnvironment {
    /// Returns a request for `path` of the server under the name `files.example`, or another host below it.
    func renamedRequest(_ path: String, host: String = "files.example", to name: String = "file.bin") -> DownloadRequest
    {
        var components = URLComponents(url: server.url(path), resolvingAgainstBaseURL: true) ?? URLComponents()
        components.host = host
        return DownloadRequest(
            from: components.url ?? server.url(path), to: directory.appending(path: name))
    }
}
