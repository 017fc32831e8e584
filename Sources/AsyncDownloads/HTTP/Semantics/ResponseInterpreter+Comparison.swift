extension ResponseInterpreter {
    /// Returns what `head` means for a request that compares received bytes with the server's bytes.
    func decideComparison(_ head: ResponseHead) -> ComparisonDecision {
        guard head.status.code == 206 else {
            if head.status.code == 416 { return .otherwise(.retryRequest(.everything(.rangeNotSatisfiable))) }
            guard head.status.code == 200 || head.status.code == 203 else { return .otherwise(decide(head)) }
            // Rule 23: a whole body isn't accepted as the response to a bounded range.
            let isSame = match(head) == .same
            return .otherwise(.retryRequest(.everything(isSame ? .rangeIgnored : .contentChanged)))
        }
        if let digests = digests(head), let recorded = known?.digests {
            if digests.contradicts(recorded) {
                let hasChanged = match(head) == .different
                return .otherwise(.retryRequest(.everything(hasChanged ? .contentChanged : .credentialsChanged)))
            }
            if digests.agrees(with: recorded) { return .proven }
        }
        switch decidePartial(head, isComparison: true) {
        case .append(let continuation): return .compare(skipped: continuation.skipped, end: continuation.end)
        case let decision: return .otherwise(decision)
        }
    }
}

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
