internal import AsyncDownloads
internal import LoopbackServer

extension Scenario {
    /// Temporary statuses, final statuses, and `Retry-After`.
    package static let statuses: [Scenario] = temporary + final

    /// Responses after which the same request can succeed.
    package static let temporary: [Scenario] =
        passingStatuses.flatMap(passing) + [
            Scenario(
                rules: [31], name: "a page of a captive portal is not written to the file, and the bytes are kept",
                resource: interrupted([.status(200, headers: ["Content-Type": "text/html"], body: "<html>pay</html>")]),
                outcome: .file(content), resumptions: [cut]),
            Scenario(
                rules: [37], name: "Retry-After with zero seconds permits an immediate retry",
                resource: scripted([[.retryAfter("0")]]),
                outcome: .file(content), offsets: [0, 0]),
            Scenario(
                rules: [37], name: "Retry-After with a past date permits an immediate retry",
                resource: scripted([[.retryAfter("Fri, 16 Apr 2010 17:23:13 GMT", status: 429)]]),
                outcome: .file(content), offsets: [0, 0]),
            Scenario(
                rules: [37], name: "a malformed Retry-After is ignored", resource: scripted([[.retryAfter("soon")]]),
                outcome: .file(content), offsets: [0, 0]),
        ]

    /// Responses that end a download, because they are final or don't contain the file.
    package static let final: [Scenario] =
        finalStatuses.map(refusing) + filelessStatuses.map(fileless) + [
            fileless(305).exceptOnLinuxURLSession("URLSession does not report the head of such a response."),
            Scenario(
                rules: [36], name: "401 with an authentication challenge is final",
                resource: scripted([[.status(401, headers: ["WWW-Authenticate": "Basic realm=\"x\""])]]),
                outcome: .failure(.httpStatus), offsets: [0]),
            Scenario(
                rules: [31], name: "an error page is not written to the file, and the bytes are kept",
                resource: interrupted([.status(403, body: "no")]), outcome: .failure(.httpStatus, kept: cut...cut),
                offsets: [0, cut]),
        ]

    private static let passingStatuses: [Int] = [408, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524]
    private static let finalStatuses: [Int] = [
        400, 401, 403, 404, 405, 406, 409, 410, 411, 414, 418, 451, 501, 505, 525,
    ]
    private static let filelessStatuses: [Int] = [201, 202, 204, 205, 207, 226, 300, 304]

    private static func passing(_ status: Int) -> [Scenario] {
        [
            Scenario(
                rules: [36], name: "\(status) is retried", resource: scripted([[.status(status, body: "wait")]]),
                outcome: .file(content), offsets: [0, 0]),
            Scenario(
                rules: [36, 31], name: "\(status) in response to a range keeps the received bytes",
                resource: interrupted([.status(status, body: "wait")]), outcome: .file(content),
                offsets: [0, cut, cut], resumptions: [cut]),
        ]
    }

    private static func refusing(_ status: Int) -> Scenario {
        Scenario(
            rules: [36, 31], name: "\(status) is final", resource: scripted([[.status(status, body: "no")]]),
            outcome: .failure(.httpStatus), offsets: [0])
    }

    private static func fileless(_ status: Int) -> Scenario {
        Scenario(
            rules: [32], name: "\(status) does not contain the file", resource: scripted([[.status(status)]]),
            outcome: .failure(.httpStatus), offsets: [0])
    }
}
