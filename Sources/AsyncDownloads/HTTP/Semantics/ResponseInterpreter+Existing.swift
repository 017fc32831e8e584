extension ResponseInterpreter {
    /// Returns whether the files at the destinations are confirmed (rule 62).
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
