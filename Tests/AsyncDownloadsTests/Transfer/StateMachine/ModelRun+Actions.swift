@testable import AsyncDownloads

/// The results of the machine's actions.
///
/// The scheduler and the engine respond immediately; the store and the clock respond later.
extension ModelRun {
    mutating func perform(_ action: TransferAction) {
        switch action {
        case .requestPermit(_, let number):
            check(permit == .none, "a second permit")
            check(!store.isOpen, "waits for a permit with an open partial file")
            permit = .requested
            (permitNumber, movingHost) = (number, nil)
        case .movePermit(let origins, let number):
            (permitNumber, movingHost) = (number, origins.host)
            check(permit == .held, "a move without a permit")
            check(exchanges.isEmpty, "a move during an exchange")
            permit = .requested
        case .releasePermit:
            check(exchanges.isEmpty, "the permit was released before the end of the exchange")
            check(!store.isOpen || permit == .none, "the permit was released before the partial file")
            permit = .none
        case .startExchange(let number, let request):
            let isExtra = request.headers["Range"]?.hasSuffix("-") == false && request.headers["If-Range"] == nil
            check(exchanges.isEmpty || isExtra, "rule 8: a second exchange without a bounded range")
            check(permit == .held, "an exchange without a permit")
            check(store.isOpen, "an exchange without a partial file")
            check(exchanges.count < connections, "rule 58: more exchanges than connections")
            if !machine.isCanceled(number), noteCount % 16 == 5 {
                if !machine.isExtra(number) { permit = .none }
                take("the host permits no request", machine.requestHeld(number, at: now))
                break
            }
            exchanges.append(Exchange(number: number, request: request))
        case .recordHost, .leaveConnections:
            check(exchanges.isEmpty, "the connections were left before the end of the exchanges")
        case .cancelExchange(let number):
            updateExchange(number) { $0.isCancelled = true }
        case .abandonExchange(let number):
            // Its end may have arrived first.
            guard let exchange = exchange(number) else { break }
            check(exchange.isCancelled, "abandoned an exchange that was not canceled")
            end(.cancelled, of: number)
        case .openGate(let number):
            updateExchange(number) { $0.isHeldBack = false }
        case .refreshURL(_, let number):
            check((permit == .held) == store.isOpen, "a permit without an open partial file, or the reverse")
            check(exchanges.isEmpty, "a refresh during an exchange")
            refreshes.append(number)
        case .authorize(_, let number):
            check((permit == .held) == store.isOpen, "a permit without an open partial file, or the reverse")
            check(exchanges.isEmpty, "an authorization during an exchange")
            refreshes.append(number)
            authorizations.insert(number)
        // The result may already be on its way.
        case .cancelRefresh: if Bool.random(using: &generator) { refreshes = [] }
        case .scheduleRetry(let delay, let timer): retries.append((now + delay, timer))
        case .scheduleTick(let delay):
            check(tick == nil, "two ticks at the same time")
            tick = now + delay
        case .scheduleMark(let delay): mark = now + delay
        case .markPartial(let received, _): check(store.mark(received), "marked bytes that were never written")
        case .emit, .removeImportedFile, .useCredentials: break
        case .end(let ending):
            check(self.ending == nil, "two ends")
            check(!store.isOpen, "ended with an open partial file")
            check(actions.isEmpty, "actions after the end")
            self.ending = ending
            if case .failed(let error) = ending {
                check(error.retainedByteCount <= store.keptCount, "rule 44: failed with more than is kept")
            }
            if case .discarded = ending { check(store.isEmpty || store.hasRefused, "discarded, but bytes remain") }
            (retries, tick, mark, refreshes) = ([], nil, nil, [])
        case .openPartial, .startPartial, .updateRepresentation, .recordPartial, .rollBackPartial, .savePartial,
            .closePartial,
            .confirmCredentials, .discardPartial, .finishPartial:
            storeQueue.append(action)
        }
    }

    mutating func storeAnswers() {
        let action = storeQueue.removeFirst()
        switch action {
        case .openPartial: take("opened", machine.opened(store.open(using: &generator), at: now))
        case .startPartial(let representation, let number):
            let result = store.begin(representation, using: &generator)
            take("began", machine.partialStarted(result, exchange: number, at: now))
        case .updateRepresentation(let representation): store.updateRepresentation(representation)
        case .confirmCredentials: break
        case .savePartial(let received):
            store.save(received, using: &generator)
            take("saved", machine.saved())
        case .closePartial(let received):
            let kept = store.close(saving: received, using: &generator)
            take("closed", machine.closed(keeping: kept, at: now))
        case .discardPartial:
            store.discard()
            take("discarded", machine.closed(at: now))
        case .recordPartial(let received, let number):
            take("recorded", machine.prepared(store.record(received, using: &generator), exchange: number, at: now))
        case .rollBackPartial(let received, _): store.rollBack(to: received)
        case .finishPartial(let length, let representation, let checksum):
            check(representation.unverifiedFrom == nil || checksum != nil, "bytes that nothing verifies")
            let error = store.finish(length: length, checked: checksum != nil)
            take("finished", machine.finished(error.map(Result.failure) ?? .success([:]), at: now))
        default: preconditionFailure("\(action) is not an action for the store")
        }
    }

    mutating func timeGoesOn() {
        guard let due = (retries.map(\.due) + [tick, mark].compactMap { $0 }).min() else { return }
        now = max(now, due)
        if tick == due {
            tick = nil
            take("tick", machine.tick(at: now))
        } else if let index = retries.firstIndex(where: { $0.due == due }) {
            let timer = retries.remove(at: index).timer
            let (isDue, before) = (machine.timer == timer, machine.phase)
            let actions = machine.retryDue(timer, at: now)
            check(isDue || actions.isEmpty && machine.phase == before, "a superseded delay ended another")
            check(!isDue || machine.timer != timer, "a delay did not end")
            take("retry \(timer)", actions)
        } else {
            mark = nil
            take("mark", machine.markDue(at: now))
        }
    }
}
