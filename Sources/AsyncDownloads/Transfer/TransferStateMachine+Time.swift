/// What time brings: the end of a delay, a look at a running exchange, the deadline.
extension TransferStateMachine {
    /// The delay of this number is over.
    mutating func retryDue(number: Int, at now: Duration) -> [TransferAction] {
        // A stop, or a later delay, came first.
        guard state == .backingOff(number) else { return [] }
        return queue(at: now)
    }

    /// A second or so has passed: looks for a stalled exchange, and tells what progress is left to tell.
    mutating func tick(at now: Duration) -> [TransferAction] {
        isTicking = false
        guard let exchange else { return [] }
        var actions = keepTicking()
        switch state {
        case .connecting, .receiving:
            if meter.shouldTell(at: now) { actions.append(.tell(.progress(progress))) }
            // While the disk takes its time, the engine could not deliver anything.
            if let idle = settings.idleTimeout, !exchange.isWriting, now - exchange.lastActivity >= idle {
                pendingError = DownloadError(.timedOut, "no byte for \(idle)")
                actions += drain(.retry, at: now)
            }
        case .draining:
            guard let idle = settings.idleTimeout, now - (exchange.cancelledAt ?? exchange.lastActivity) >= idle else {
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

    /// The time for the whole download is over.
    mutating func deadlineReached(at now: Duration) -> [TransferAction] {
        // A timer that crossed its cancellation, or went off early.
        guard isOverdue(at: now) else { return timeLeft(at: now).map { [.scheduleDeadline($0)] } ?? [] }
        switch state {
        // The file is there; or nothing is wanted just now, and time in a pause does not count.
        case .finishing, .ended, .ready, .paused, .closing: return []
        // The store's answer comes first.
        case .opening: return []
        // It ends anyway, and at once.
        case .draining(.fail): return cancelExchange(at: now)
        // A stop came first; should it be taken back, the next connection looks at the time.
        case .draining where wish != .run: return []
        case .waiting, .backingOff:
            return fail(deadlineError, at: now)
        case .refreshing:
            return [.cancelRefresh] + fail(deadlineError, at: now)
        case .connecting, .preparing, .receiving, .draining:
            pendingError = deadlineError
            return drain(.fail, at: now)
        }
    }

    /// What is left of the time for the whole download; nil without a deadline, and in a pause.
    func timeLeft(at now: Duration) -> Duration? {
        guard let deadline = settings.deadline, let activeSince else { return nil }
        return deadline - activeTime - (now - activeSince)
    }

    func isOverdue(at now: Duration) -> Bool {
        timeLeft(at: now).map { $0 <= .zero } ?? false
    }

    var deadlineError: DownloadError {
        DownloadError(.deadlineExceeded, "not finished within \(settings.deadline ?? .zero)")
    }
}
