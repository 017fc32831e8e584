/// The remaining response to one request, while it is sent.
struct Exchange {
    let number: Int
    let path: String
    let bytesPerSecond: Int?

    /// The actions that remain.
    private(set) var actions: ArraySlice<Action>

    init(number: Int, path: String, plan: ResponsePlan) {
        self.number = number
        self.path = path
        bytesPerSecond = plan.bytesPerSecond
        actions = plan.actions[...]
    }

    /// Removes and returns the next action; of a body part, at most `length` bytes.
    mutating func next(bodyBytes length: Int) -> Action {
        let action = actions.removeFirst()
        guard case .body(let part, let chunked) = action else { return action }
        let (piece, rest) = part.split(at: Int64(length))
        if rest.length > 0 { actions.insert(.body(rest, chunked: chunked), at: actions.startIndex) }
        return .body(piece, chunked: chunked)
    }
}
