/// The faults of a step, arranged by the part of the response that they affect.
///
/// Of two faults for the same place, the later one counts unless both can take effect.
struct Deviations {
    /// A response that replaces the one of the resource.
    struct Answer {
        var status: Int
        var headers: HeaderFields
        var body: Resource.Body
    }

    /// The behavior of the server instead of sending the head.
    enum Opening {
        case closed(ConnectionEnd)
        case cut(after: Int)
        case garbage
    }

    /// An action that follows a number of body bytes.
    struct Interruption {
        var offset: Int64
        var action: Action
    }

    var answer: Answer?
    var ignoresRange = false
    var rangeShift: Int64 = 0
    var longestRange: Int64 = .max / 2
    var unrequestedFirst: Int64?
    var isMultipart = false
    var headerEdits: [(name: String, value: String?)] = []
    /// The replacement for Content-Range: nil changes nothing, and a wrapped nil removes the field.
    var contentRange: String??
    var declaredLength: Int64?
    var extraBytes = 0
    var isEndless = false
    var lacksLastChunk = false
    var trailers: [String] = []
    /// The actions that precede the head.
    var delays: [Action] = []
    var opening: Opening?
    /// The interruptions in the order of their offsets; those with equal offsets keep the order of the step.
    private(set) var interruptions: [Interruption] = []
    var bytesPerSecond: Int?
    var ignoresInput = false

    init(_ step: Step) {
        for fault in step.faults { add(fault) }
    }

    private mutating func add(_ fault: Fault) {
        switch fault {
        case .status(let status, let headers, let body):
            answer = Answer(status: status, headers: headers, body: body)
        case .retryAfter(let value, let status):
            answer = Answer(status: status, headers: ["Retry-After": value], body: "try again later\n")
        case .redirect(let status, let location):
            answer = Answer(status: status, headers: ["Location": location], body: "")
        case .replaceContent: break  // The site replaces the resource's content before it plans the response.
        case .ignoreRange: ignoresRange = true
        case .rangeShift(let distance): rangeShift = distance
        case .shortRange(let length): longestRange = length
        case .unrequestedPartial(let first): unrequestedFirst = first
        case .multipartByteRanges: isMultipart = true
        case .contentRange(let value): contentRange = .some(value)
        case .contentLength(let length): declaredLength = length
        case .entityTag(let value): headerEdits.append(("ETag", value))
        case .header(let name, let value): headerEdits.append((name, value))
        case .removeHeader(let name): headerEdits.append((name, nil))
        case .hugeHeader(let count): headerEdits.append(("X-Padding", String(repeating: "a", count: count)))
        case .extraBytes(let count): extraBytes = count
        case .endless: isEndless = true
        case .chunkedWithoutEnd: lacksLastChunk = true
        case .trailers(let lines): trailers = lines
        case .interim(let status):
            delays.append(.send(Array("HTTP/1.1 \(status) Interim\r\nLink: </x>; rel=preload\r\n\r\n".utf8)))
        case .delayHead(let duration): delays.append(.wait(duration))
        case .holdHead: delays.append(.hold)
        case .stall(let offset): interrupt(after: offset, .hold)
        case .ignoreInput: ignoresInput = true
        case .throttle(let rate): bytesPerSecond = rate
        case .cut(let offset, let closing): interrupt(after: offset, .close(closing))
        case .closeBeforeHead(let closing): opening = .closed(closing)
        case .closeInsideHead(let count): opening = .cut(after: count)
        case .garbage: opening = .garbage
        }
    }

    private mutating func interrupt(after offset: Int64, _ action: Action) {
        let index = interruptions.firstIndex { $0.offset > offset } ?? interruptions.endIndex
        interruptions.insert(Interruption(offset: offset, action: action), at: index)
    }
}
