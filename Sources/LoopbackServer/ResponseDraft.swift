/// The head and the body of a response while it is planned.
struct ResponseDraft {
    private(set) var status = 200
    private(set) var headers: HeaderFields = [:]
    private(set) var body: [BodyPart] = []
    private(set) var sendsBody = true
    private(set) var isChunked = false

    /// Whether the connection is closed after the body.
    private(set) var closes = false

    /// Determines the status, the body, and the fields except those that frame the body.
    init(for request: RequestHead, of resource: Resource?, deviations: Deviations, now: HTTPDate) {
        headers["Date"] = resource?.date ?? now.description
        if let answer = deviations.answer {
            status = answer.status
            headers.set(answer.headers)
            body = [BodyPart(whole: answer.body)]
        } else if let resource {
            describe(resource)
            select(from: resource, for: request, deviations: deviations, now: now)
        } else {
            answer(404, "nothing at \(request.path)\n")
        }
    }

    /// The bytes of the status line and the fields.
    var head: [UInt8] {
        let fields = headers.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
        return Array("HTTP/1.1 \(status) \(reasonPhrase(of: status))\r\n\(fields)\r\n".utf8)
    }

    private mutating func describe(_ resource: Resource) {
        switch resource.ranges {
        case .honored, .announcedOnly: headers["Accept-Ranges"] = "bytes"
        case .unannounced, .ignored, .refused: break
        }
        headers["ETag"] = resource.entityTag
        headers["Last-Modified"] = resource.lastModified
        headers.set(resource.headers)
    }

    private mutating func select(
        from resource: Resource, for request: RequestHead, deviations: Deviations, now: HTTPDate
    ) {
        guard request.method == "GET" || request.method == "HEAD" else {
            headers["Allow"] = "GET, HEAD"
            answer(405, "only GET and HEAD\n")
            return
        }
        let coding = resource.coding(for: request)
        let bytes = coding?.body ?? resource.body
        var selection = Selection.whole
        if resource.status == 200 {
            selection = Selection(for: request, of: resource, length: bytes.length, now: now)
        }
        switch selection.changed(by: deviations, for: request, length: bytes.length) {
        case .whole:
            status = resource.status
            represent(resource, coding, BodyPart(whole: bytes))
        case .part(let range):
            status = 206
            represent(resource, coding, BodyPart(bytes, range))
            headers["Content-Range"] = contentRange(range, of: bytes.length)
        case .multipart(let range):
            status = 206
            represent(resource, coding, BodyPart(bytes, range))
            wrapAsMultipart(contentRange(range, of: bytes.length))
        case .unsatisfiable:
            answer(416, "no such range\n")
            headers["Content-Range"] = "bytes */\(bytes.length)"
        case .notModified:
            status = 304
        case .preconditionFailed:
            answer(412, "precondition failed\n")
        }
        if status == 206 || status == 416, case .some(let value) = deviations.contentRange {
            headers["Content-Range"] = value
        }
    }

    private mutating func answer(_ status: Int, _ text: String) {
        self.status = status
        headers["Content-Type"] = "text/plain"
        body = [BodyPart(text: text)]
    }

    private mutating func represent(_ resource: Resource, _ coding: Resource.ContentCoding?, _ part: BodyPart) {
        headers["Content-Type"] = headers["Content-Type"] ?? resource.contentType
        headers["Content-Disposition"] = headers["Content-Disposition"] ?? resource.contentDisposition
        if let coding { headers["Content-Encoding"] = coding.name }
        if resource.coding?.onlyIfAccepted == true { headers["Vary"] = "Accept-Encoding" }
        body = [part]
    }

    private mutating func wrapAsMultipart(_ contentRange: String) {
        let boundary = "one-part-only"
        let type = headers["Content-Type"].map { "Content-Type: \($0)\r\n" } ?? ""
        headers["Content-Type"] = "multipart/byteranges; boundary=\(boundary)"
        body.insert(BodyPart(text: "--\(boundary)\r\n\(type)Content-Range: \(contentRange)\r\n\r\n"), at: 0)
        body.append(BodyPart(text: "\r\n--\(boundary)--\r\n"))
    }

    private func contentRange(_ range: Range<Int64>, of length: Int64) -> String {
        "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
    }
}

extension ResponseDraft {
    /// Adds the fields that frame the body, then applies the step's changes to the head.
    mutating func frame(for request: RequestHead, framing: Resource.Framing, deviations: Deviations) {
        let length = body.reduce(0) { $0 + $1.length }
        // Responses with these statuses have no body, whatever their fields state (RFC 9112, 6.3).
        let isBodiless = status / 100 == 1 || status == 204 || status == 304
        var framing = framing
        let isEndlessLength = deviations.isEndless && framing == .contentLength
        if deviations.lacksLastChunk || !deviations.trailers.isEmpty || isEndlessLength { framing = .chunked }
        if deviations.declaredLength != nil { framing = .contentLength }
        if !isBodiless {
            switch framing {
            case .contentLength: headers["Content-Length"] = "\(deviations.declaredLength ?? length)"
            case .chunked: headers["Transfer-Encoding"] = "chunked"
            case .closeDelimited: headers["Connection"] = "close"
            }
        }
        if deviations.extraBytes > 0 { body.append(BodyPart(padding: Int64(deviations.extraBytes))) }
        if deviations.isEndless { body.append(BodyPart(padding: .max - length - Int64(deviations.extraBytes))) }
        for edit in deviations.headerEdits { headers[edit.name] = edit.value }

        sendsBody = request.method != "HEAD" && !isBodiless
        isChunked = headers["Transfer-Encoding"] != nil
        let isDelimited = !sendsBody || isChunked || headers["Content-Length"] != nil
        let isLying = deviations.declaredLength != nil || deviations.extraBytes > 0 || deviations.lacksLastChunk
        closes = !request.isKeepAlive || !isDelimited || isLying || headers["Connection"]?.lowercased() == "close"
        if !request.isKeepAlive, headers["Connection"] == nil { headers["Connection"] = "close" }
    }
}

private func reasonPhrase(of status: Int) -> String {
    switch status {
    case 200: "OK"
    case 206: "Partial Content"
    case 304: "Not Modified"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 412: "Precondition Failed"
    case 416: "Range Not Satisfiable"
    case 503: "Service Unavailable"
    default: "Status"
    }
}
