extension ResponseInterpreter {
    /// Returns the decision about a 304 response, which may confirm the files at the destinations (rule 62).
    func decideUnchanged(_ head: ResponseHead) -> ResponseDecision {
        guard case .ifNoneMatch(let validator) = requested.condition else {
            return .retryRequest(.withoutCondition)
        }
        switch validator.matches(head.headers, receivedAt: date) {
        case .same: return .unchanged
        case .absent: return requiresVerification ? .retryRequest(.withoutCondition) : .unchanged
        case .different: return .retryRequest(.withoutCondition)
        }
    }
}
