internal import NIOHTTP1

/// The parts of a request that a response depends on.
struct RequestHead: Equatable {
    var method = "GET"
    var path = "/"
    var query: String?
    var headers: HeaderFields = [:]
    var isKeepAlive = true
}

extension RequestHead {
    init(_ head: HTTPRequestHead) {
        let target = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        method = head.method.rawValue
        path = target[0]
        query = target.count > 1 ? target[1] : nil
        for (name, value) in head.headers { headers.append(name, value) }
        isKeepAlive = head.isKeepAlive
    }
}
