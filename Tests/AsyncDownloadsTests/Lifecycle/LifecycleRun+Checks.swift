import Foundation
import LoopbackServer

@testable import AsyncDownloads

/// The comparison of what is seen with the model.
extension LifecycleRun {
    /// Waits until nothing goes on any more, then compares.
    func performEffects() async {
        await stage.performEffects()
        for caller in callers where caller.isAttached { await caller.performEffects() }
        for resource in transfers.indices { look(at: resource) }
        for caller in callers { look(at: caller) }
    }

    private func isLive(_ resource: Int) -> Bool {
        stage.downloader.liveTransfers.contains { $0.key.url.hasSuffix("/\(resource)") }
    }

    private func exchanges(_ resource: Int) -> [SteppedExchange] {
        stage.transport.exchanges.filter { $0.path.hasPrefix("/\(resource)") }
    }

    private func look(at resource: Int) {
        takeNewExchange(of: resource)
        let hasFreePermit = stage.transport.open.count < Self.permits
        let transfer = transfers[resource]
        if let exchange = transfer.exchange {
            check(exchange.isCancelled == transfer.isStopped, "\(resource): cancelled \(exchange.isCancelled)")
        } else if transfer.isLive, active(to: resource).isEmpty, !transfer.goesOnForNobody {
            // Nobody is left: what was received waits for whoever asks next.
            transfers[resource].end(keepingBytes: true)
        } else if transfer.isLive, isWanted(resource), !transfer.isDelayed {
            let isOver = !isLive(resource)
            if isOver, transfer.bodyInMemory != nil, !transfer.isComplete { transfers[resource].takeBodyInMemory() }
            check(!isOver || transfers[resource].isComplete, "\(resource): over without its bytes")
            check(isOver || !hasFreePermit, "\(resource): waits although there is a permit")
            if isOver { finish(resource) }
        }
        check(isLive(resource) == transfers[resource].isLive, "\(resource): a transfer that should not be, or is not")
    }

    /// Notes an exchange that has begun since the last look.
    private func takeNewExchange(of resource: Int) {
        let exchanges = exchanges(resource)
        guard exchanges.count > transfers[resource].exchangeCount, let new = exchanges.last else { return }
        let transfer = transfers[resource]
        check(exchanges.count == transfer.exchangeCount + 1, "\(resource): several exchanges at once")
        check(transfer.exchange == nil, "\(resource): an exchange beside another one")
        check(isWanted(resource) && !transfer.isDelayed, "\(resource): an exchange that nobody wants")
        if let body = transfer.bodyInMemory, new.offset == body.count, new.offset > 0 {
            transfers[resource].takeBodyInMemory()
        } else if transfer.location == .memory, transfer.isMemoryDoubtful, new.offset == 0 {
            transfers[resource].bytes = .init()
        }
        if transfer.location == .memory { transfers[resource].isMemoryDoubtful = false }
        check(
            new.offset == transfers[resource].bytes.count,
            "\(resource): asks from \(new.offset), \(transfers[resource].bytes.count) bytes are there")
        history.append("  \(resource): exchange from \(new.offset)")
        transfers[resource].exchange = new.hasEnded ? nil : new
        transfers[resource].isOpened = true
        transfers[resource].exchangeCount = exchanges.count
        transfers[resource].lastActivity = stage.time.now
        transfers[resource].isStopped = false
    }

    private func finish(_ resource: Int) {
        let transfer = transfers[resource]
        guard let object = transfer.bytes.object else { return check(false, "\(resource): finished from nothing") }
        let finished = active(to: resource)
        for caller in finished { caller.outcome = .finished(object) }
        let names = finished.isEmpty ? [transfer.firstDestination] : finished.map(\.destination)
        for name in Set(names.compactMap(\.self)) {
            check(stage.holds(object.content, at: name), "\(resource): \(name) is not the object that was fetched")
        }
        history.append("  \(resource): finished")
        transfers[resource].end(keepingBytes: false)
    }

    // MARK: Callers

    private func allowedState(of caller: ReferenceCaller) -> Download.State {
        switch caller.outcome {
        case .left: return .cancelled
        case .finished: return .completed
        case .failed: return .failed
        case nil: break
        }
        if caller.isPaused { return .paused }
        let transfer = transfers[caller.resource]
        if transfer.exchange != nil { return .downloading }
        return transfer.isDelayed ? .retrying : .waiting
    }

    private func look(at caller: ReferenceCaller) {
        let (allowed, seen) = (allowedState(of: caller), caller.download?.state)
        check(seen == nil || seen == allowed, "\(caller.number) is \(seen.map(\.rawValue) ?? ""), not \(allowed)")
        let events = caller.events
        let news = events.dropFirst(caller.checkedCount)
        caller.checkedCount = events.count
        guard caller.listening != nil, caller.isAttached else { return }
        for event in news {
            switch event {
            case .progress: check(!caller.isPaused, "\(caller.number) hears of progress in a pause")
            case .paused(let count), .resumed(let count):
                caller.knowsOfPause = true
                // Who never had a permit has not looked for the bytes of those before him.
                let expected = transfers[caller.resource].isOpened ? transfers[caller.resource].bytes.count : 0
                check(count == expected, "\(caller.number): \(event), \(expected) bytes are there")
            default: break
            }
        }
        // While an exchange of no use runs out, the pause of all is still under way.
        let isDone = transfers[caller.resource].exchange == nil || isWanted(caller.resource)
        if caller.isPaused, isDone { check(caller.knowsOfPause, "\(caller.number) was not told of his pause") }
    }

    /// Looks at every outcome and every story when all is over.
    func checkEnds() async {
        for caller in callers {
            let error = await caller.listening?.value
            let result = await caller.awaiting?.value
            guard let outcome = caller.outcome else { continue }
            if caller.listening != nil {
                let log = EventLog(events: caller.events, error: error ?? nil)
                for fault in log.faults { check(false, "\(caller.number): \(fault)") }
                check((log.file != nil) == outcome.isFinished, "\(caller.number): his log and his outcome differ")
            }
            if let result { check(outcome.agrees(with: result), "\(caller.number) was handed \(result)") }
        }
        let expected = transfers.flatMap(\.kept.keys).compactMap { if case .file(let name) = $0 { name } else { nil } }
        let hidden = stage.directory.names(hiddenOnly: true).filter { $0.hasSuffix(".partial") }
        for name in hidden {
            check(expected.contains { name.hasPrefix(".\($0).") } || name.hasPrefix(".body."), "\(name) is left over")
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
        case (.left, .failure(let error)): return error.code == .cancelled
        case (.failed, .failure(let error)): return error.code == .httpStatus
        default: return false
        }
    }
}
