import Foundation
import LoopbackServer

@testable import AsyncDownloads

/// The comparison of the observed behavior with the model.
extension LifecycleRun {
    /// Waits until only the test can cause progress, and then compares.
    func waitUntilIdle() async {
        await fixture.waitUntilIdle()
        for caller in callers where caller.isAttached { await caller.waitUntilIdle() }
        for resource in transfers.indices { compare(resource) }
        for caller in callers { compare(caller) }
    }

    private func isLive(_ resource: Int) -> Bool {
        fixture.downloader.liveTransfers.contains { $0.request.url.path == "/\(resource)" }
    }

    private func exchanges(_ resource: Int) -> [SteppedExchange] {
        fixture.transport.exchanges.filter { $0.path.hasPrefix("/\(resource)") }
    }

    private func compare(_ resource: Int) {
        takeNewExchange(of: resource)
        let hasFreePermit = fixture.transport.open.count < Self.permits
        let transfer = transfers[resource]
        if let exchange = transfer.exchange {
            check(exchange.isCancelled == transfer.isStopped, "\(resource): cancelled \(exchange.isCancelled)")
        } else if transfer.isLive, active(to: resource).isEmpty, !transfer.continuesWithoutSubscribers {
            // Without subscribers, the received bytes are kept for the next request.
            transfers[resource].end(keepingBytes: true)
        } else if transfer.isLive, isWanted(resource), !transfer.isDelayed {
            let hasEnded = !isLive(resource)
            if hasEnded { transfers[resource].open() }
            check(!hasEnded || transfers[resource].isComplete, "\(resource): ended with bytes missing")
            check(hasEnded || !hasFreePermit || mayBePaced, "\(resource): waits although a permit is available")
            if hasEnded { finish(resource) }
        }
        check(
            isLive(resource) == transfers[resource].isLive,
            "\(resource): the existence of a transfer differs from the model")
    }

    /// Updates the model for an exchange that has started since the last check.
    private func takeNewExchange(of resource: Int) {
        let exchanges = exchanges(resource)
        guard exchanges.count > transfers[resource].exchangeCount, let new = exchanges.last else { return }
        let transfer = transfers[resource]
        check(exchanges.count == transfer.exchangeCount + 1, "\(resource): several exchanges at the same time")
        check(transfer.exchange == nil, "\(resource): started while another exchange has not ended")
        check(!coolingDown.contains(resource), "\(resource): started during a cool-down")
        check(isWanted(resource) && !transfer.isDelayed, "\(resource): an exchange that no subscriber needs")
        transfers[resource].open()
        check(
            new.offset == transfers[resource].bytes.count,
            "\(resource): requested from \(new.offset), received \(transfers[resource].bytes.count)")
        history.append("  \(resource): exchange from \(new.offset)")
        transfers[resource].exchange = new.hasEnded ? nil : new
        transfers[resource].exchangeCount = exchanges.count
        transfers[resource].lastActivity = fixture.time.now
        transfers[resource].isStopped = false
    }

    private func finish(_ resource: Int) {
        let transfer = transfers[resource]
        guard let object = transfer.bytes.object else { return check(false, "\(resource): finished without bytes") }
        let finished = active(to: resource)
        for caller in finished { caller.outcome = .finished(object) }
        let names = finished.isEmpty ? [transfer.lastDestination] : finished.map(\.destination)
        for name in Set(names.compactMap(\.self)) {
            check(fixture.holds(object.content, at: name), "\(resource): \(name) is not the object that was fetched")
        }
        history.append("  \(resource): finished")
        transfers[resource].end(keepingBytes: false)
    }

    // MARK: Subscribers

    private func allowedState(of caller: ReferenceCaller) -> Download.State {
        switch caller.outcome {
        case .canceled: return .cancelled
        case .finished: return .completed
        case .failed: return .failed
        case nil: break
        }
        let transfer = transfers[caller.resource]
        if caller.isPaused {
            // The bytes are stored after the last exchange has ended.
            let isStopping =
                active(to: caller.resource).allSatisfy(\.isPaused) && transfer.exchange != nil
                && transfer.bytes.count > 0
            return isStopping ? .downloading : .paused
        }
        if transfer.exchange != nil { return .downloading }
        return transfer.isDelayed ? .retrying : .waiting
    }

    private func compare(_ caller: ReferenceCaller) {
        let (allowed, seen) = (allowedState(of: caller), caller.download?.state)
        check(seen == nil || seen == allowed, "\(caller.number) is \(seen.map(\.rawValue) ?? ""), not \(allowed)")
        let events = caller.events
        let news = events.dropFirst(caller.checkedCount)
        caller.checkedCount = events.count
        guard caller.listening != nil, caller.isAttached else { return }
        for event in news {
            switch event {
            case .progress: check(!caller.isPaused, "\(caller.number) received progress during a pause")
            case .paused(let count), .resumed(let count):
                caller.hasReceivedPause = true
                // A transfer that never had a permit has not looked for bytes on disk.
                let expected = transfers[caller.resource].isOpened ? transfers[caller.resource].bytes.count : 0
                check(count == expected, "\(caller.number): \(event), but \(expected) bytes were received")
            default: break
            }
        }
        // While an unneeded exchange is being drained, the pause of the transfer is not complete.
        let isDone = transfers[caller.resource].exchange == nil || isWanted(caller.resource)
        if caller.isPaused, isDone { check(caller.hasReceivedPause, "\(caller.number) received no pause event") }
    }

    /// Checks the outcome and the events of every download after all have ended.
    func checkEnds() async {
        for caller in callers {
            let error = await caller.listening?.value
            let result = await caller.awaiting?.value
            guard let outcome = caller.outcome else { continue }
            if caller.listening != nil {
                let log = EventLog(events: caller.events, error: error ?? nil)
                for fault in log.faults { check(false, "\(caller.number): \(fault)") }
                check((log.file != nil) == outcome.isFinished, "\(caller.number): the events and the outcome differ")
            }
            if let result { check(outcome.agrees(with: result), "\(caller.number) received \(result)") }
        }
        let hidden = fixture.directory.names(hiddenOnly: true).filter { $0.hasSuffix(".partial") }
        for name in hidden {
            // The first part of a name is the resource.
            let resource = Int(name.dropFirst().prefix(1))
            let isKept = resource.map { !transfers[$0].kept.isEmpty } ?? true
            check(isKept || name.hasPrefix(".body."), "\(name) is a leftover")
        }
    }
}

extension ReferenceCaller.Outcome {
    fileprivate var isFinished: Bool { if case .finished = self { true } else { false } }

    fileprivate func agrees(with result: Result<DownloadedFile, DownloadError>) -> Bool {
        switch (self, result) {
        case (.finished(let object), .success(let file)):
            guard let data = file.data else { return file.byteCount == object.content.length }
            return Int64(data.count) == object.content.length
                && data.withUnsafeBytes { object.content.matches($0, at: 0) }
        case (.canceled, .failure(let error)): return error.code == .cancelled
        case (.failed, .failure(let error)): return error.code == .httpStatus
        default: return false
        }
    }
}
