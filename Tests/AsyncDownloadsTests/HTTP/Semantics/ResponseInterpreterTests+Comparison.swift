internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Responses to requests that compare received bytes with the server's bytes.
extension ResponseInterpreterTests {
    @Test(arguments: [("\"v1\"", RestartReason.credentialsChanged), ("\"v2\"", .contentChanged)])
    func `rule 9: another digest means other credentials only if the validator is the same`(
        _ validator: String, _ reason: RestartReason
    ) {
        var known = Representation(
            finalURL: "https://a.example/", validator: Validator(rawValue: "\"v1\""), length: 100)
        known.digests = [.sha256(String(repeating: "1", count: 64))]
        let interpreter = ResponseInterpreter(
            requested: .segment(0..<10, validator: nil), known: known, received: 50, url: "https://a.example/",
            decodesContent: false, date: .sample)
        let head = ResponseHead(
            status: StatusCode(206),
            headers: [
                "Content-Range": "bytes 0-9/100", "Content-Length": "10", "ETag": validator,
                "Repr-Digest": "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:",
            ])
        #expect(interpreter.decideComparison(head) == .otherwise(.retryRequest(.everything(reason))))
    }
}
