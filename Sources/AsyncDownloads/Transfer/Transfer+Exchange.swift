internal import Dispatch

/// What the engine reports, and the writing of what it brings.
extension Transfer {
    func headArrived(_ head: ResponseHead, from receiver: ExchangeReceiver, number: Int) -> Readiness {
        let (reply, gate, partial) = update { state, decision in
            decision.actions += state.machine.headArrived(
                head, exchange: number, at: now, date: environment.time.date)
            endOversized(&state, &decision, at: now)
            let reply = state.machine.headReply(exchange: number)
            let isAside = reply != .proceed && (reply == .holdBack || writesAside(state))
            if isAside, case .begin(let representation) = reply {
                decision.actions.append(.beginPartial(representation, exchange: number))
            }
            // Shut before anybody may want to open it.
            return (reply, isAside ? receiver.shutGate() : nil, state.partial)
        }
        if let gate { return .notYet(gate) }
        if case .begin(let representation) = reply, let partial {
            let result = timed(partial) {
                Result { () throws(DownloadError) in try partial.begin(representation) }
            }
            input { $0.began(result, exchange: number, at: now) }
        }
        return .ready
    }

    /// Writes the bytes on the engine's thread: they are valid during the call only, and a hop would cost a copy.
    ///
    /// Where that would hold the thread up, they are copied and written on the transfer's queue, and nothing more is
    /// delivered until they are written.
    func bytesArrived(
        _ bytes: UnsafeRawBufferPointer, from receiver: ExchangeReceiver, number: Int
    ) -> Readiness {
        let (decision, partial, isAside) = updateQuietly { state in
            let isAside = writesAside(state)
            return (state.machine.bytesArrived(bytes.count, exchange: number, at: now), state.partial, isAside)
        }
        guard let partial else { return .ready }
        let (skipping, count, offset, compares): (Int, Int, Int64, Bool)
        switch decision {
        case .ignore: return .ready
        case .write(let first, let length, let position):
            (skipping, count, offset, compares) = (first, length, position, false)
        case .compare(let first, let length, let position):
            (skipping, count, offset, compares) = (first, length, position, true)
        }
        let wanted = UnsafeRawBufferPointer(rebasing: bytes[skipping..<skipping + count])
        let take = compares ? compare : write
        guard isAside else {
            take(wanted, offset, partial, number, false)
            return .ready
        }
        let copy = [UInt8](wanted)
        let end = receiver.holdEnd()
        let gate = Gate()
        queue.async {
            copy.withUnsafeBytes { take($0, offset, partial, number, true) }
            gate.open()
            end.release()
        }
        return .notYet(gate)
    }

    func exchangeEnded(_ end: ExchangeEnd, number: Int) {
        input { $0.exchangeEnded(end, exchange: number, at: now) }
    }

    /// Compares bytes with those that are there.
    private func compare(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64, in partial: any Partial, _ number: Int, isAside: Bool
    ) {
        let result = timed(partial) {
            Result { () throws(DownloadError) in try partial.holds(bytes, at: offset) }
        }
        switch result {
        case .success(let isEqual): input { $0.compared(isEqual, exchange: number, at: now) }
        case .failure(let error): input { $0.writeFailed(error, exchange: number, at: now) }
        }
    }

    private func write(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64, to partial: any Partial, _ number: Int, isAside: Bool
    ) {
        let result = timed(partial) {
            Result { () throws(DownloadError) in try partial.write(bytes, at: offset) }
        }
        if case .failure(let error) = result {
            return input { $0.writeFailed(error, exchange: number, at: now) }
        }
        let isDigestDue = update { state, decision in
            for action in state.machine.wrote(bytes.count, at: offset, exchange: number, at: now) {
                if case .markPartial(let received) = action, isAside || !writesAside(state) {
                    // At once, and before anybody is told of the bytes: the queue may be busy with a sync.
                    decision.effects.insert(
                        DeferredEffect { [self] in timed(partial) { partial.mark(received) } }, at: 0)
                } else {
                    decision.actions.append(action)
                }
            }
            endOversized(&state, &decision, at: now)
            return state.beginDigesting()
        }
        if isDigestDue { digestOnQueue() }
    }

    /// Whether bytes are not to be written on an engine's thread.
    ///
    /// An engine that delivers although it was asked to wait has its bytes written behind those before.
    private func writesAside(_ state: State) -> Bool {
        state.isLeavingMemory || state.machine.exchange?.isWriting == true
            || environment.slowDisks.contains(state.partial?.volume, at: now)
    }

    /// Runs a call that waits for a disk, and takes note of how long it did.
    private func timed<Value>(_ partial: any Partial, _ body: () -> Value) -> Value {
        environment.slowDisks.measure(partial.volume, environment.time, body)
    }
}
