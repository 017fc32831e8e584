/// The part of a body that a response contains.
struct BodyPart: Equatable {
    var body: Resource.Body
    var range: Range<Int64>

    init(_ body: Resource.Body, _ range: Range<Int64>) {
        self.body = body
        self.range = range
    }

    init(whole body: Resource.Body) {
        self.init(body, 0..<body.length)
    }

    init(text: String) {
        self.init(whole: .text(text))
    }

    /// Creates a part of `count` padding bytes, which belong to no resource.
    init(padding count: Int64) {
        self.init(.content(Content(seed: 0, length: count)), 0..<count)
    }

    var length: Int64 { range.upperBound - range.lowerBound }

    /// Returns the first bytes of the part, at most `length`, and the rest.
    func split(at length: Int64) -> (head: BodyPart, tail: BodyPart) {
        let middle = range.lowerBound + min(max(length, 0), self.length)
        return (BodyPart(body, range.lowerBound..<middle), BodyPart(body, middle..<range.upperBound))
    }
}
