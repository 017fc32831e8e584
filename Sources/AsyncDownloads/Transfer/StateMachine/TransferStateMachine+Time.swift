/// What time brings: the end of a delay, and a look at a running exchange.
extension TransferStateMachine {
    /// The delay of this number is over.
    mutating func retryDue(number: Int, at now: Duration) -> [TransferAction] {
        // The fresh URL takes long.
        if state == .refreshing(number), isPartialOpen { return close(.refreshing(number), at: now) }
        // A stop, or a later delay, came first.
        guard state == .backingOff(number) else { return [] }
        return isPartialOpen ? advance(at: now) : requestPermit(at: now)
    }

    /// The time for a mark has come; see ``MarkSchedule``.
    mutating func markDue(at now: Duration) -> [TransferAction] {
        guard marks.isDue(at: now), isPartialOpen else { return [] }
        switch state {
        // The store saves or places the bytes by itself.
        case .closing, .finishing, .ended: return []
        default: return [.markPartial(received)]
        }
    }

    /// A second or so has passed: looks for a stalled exchange, and tells what progress is left to tell.
    ///
    /// - Parameters:
    ///   - callbackTime: How long the thread that delivers the exchange's callbacks has spent in callbacks so far, those of
    ///     other exchanges included. Nothing can be delivered meanwhile, so that time is not the server's.
    ///   - isHeldUp: Whether what the exchange has brought is still being taken in, so that it can bring nothing more.
    mutating func tick(
        at now: Duration, callbackTime: Duration? = nil, isHeldUp: Bool = false
    ) -> [TransferAction] {
        isTicking = false
        if isHeldUp { exchange?.lastActivity = now }
        exchange?.look(at: now, callbackTime: callbackTime)
        guard let exchange else { return [] }
        var actions = keepTicking()
        switch state {
        case .connecting, .receiving:
            if meter.shouldEmit(at: now) {
                if marks.isDue(at: now) { actions.append(.markPartial(received)) }
                actions.append(.emit(.progress(progress)))
            }
            if let idle = demands.idleTimeout, !exchange.isWriting, exchange.idleTime >= idle {
                pendingError = DownloadError(.timedOut, "no byte for \(idle)")
                actions += drain(.retry, at: now)
            }
        case .draining:
            guard let idle = demands.idleTimeout, now - (exchange.cancelledAt ?? exchange.lastActivity) >= idle else {
                break
            }
            if exchange.cancelledAt == nil {
                // A body that was left to run out does not.
                actions += cancelExchange(at: now)
            } else if !exchange.isWriting {
                // URLSession on Linux ends nothing while a server sends trailers without end.
                actions.append(.abandonExchange(exchange.number))
            }
        default:
            break
        }
        return actions
    }
}
