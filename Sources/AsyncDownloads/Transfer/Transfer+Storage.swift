internal import Foundation

/// What the store does for a transfer, in order, on the transfer's own queue.
extension Transfer {
    func onPartial(_ body: @escaping @Sendable (any Partial) -> Void) {
        queue.async { [self] in
            if let partial = withState({ $0.partial }) { body(partial) }
        }
    }

    func openPartial() {
        queue.async { [self] in
            var site = site
            site.medium = withState { $0.subscribers.wantsFile } ? .disk : .memory
            let result = Result { () throws(DownloadError) in try environment.store.open(site) }
            let isDigestDue = update { state, decision in
                state.partial = try? result.get()
                state.digests = TransferDigests()
                // Whoever came meanwhile and wants a file has found no partial to tell.
                if state.subscribers.wantsFile { state.partial?.leaveMemory() }
                decision.actions += state.machine.opened(result.map(\.finding), at: now)
                return state.beginDigesting()
            }
            if isDigestDue { digestOnQueue() }
        }
    }

    func beginPartial(_ representation: Representation, exchange number: Int) {
        onPartial { [self] partial in
            let result = Result { () throws(DownloadError) in try partial.begin(representation) }
            update { state, decision in
                state.digests = TransferDigests()
                decision.actions += state.machine.began(result, exchange: number, at: now)
            }
        }
    }

    func savePartial(_ received: IntervalSet) {
        onPartial { [self] partial in
            do throws(DownloadError) {
                try partial.save(received)
            } catch {
                environment.log.notice("no checkpoint: \(error)")
            }
            input { $0.saved() }
        }
    }

    func closePartial(saving received: IntervalSet?) {
        onPartial { [self] partial in
            if let received, !received.isEmpty {
                do throws(DownloadError) {
                    try partial.save(received)
                } catch {
                    environment.log.notice("no checkpoint: \(error)")
                }
            }
            closed(keeping: partial.close())
        }
    }

    func discardPartial() {
        onPartial { [self] partial in
            partial.discard()
            closed()
        }
    }

    private func closed(keeping kept: IntervalSet? = nil) {
        environment.relief.begin()
        update { state, decision in
            state.partial = nil
            decision.actions += state.machine.closed(keeping: kept, at: now)
        }
    }
}
