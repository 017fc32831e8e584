import LoopbackServer

@testable import AsyncDownloads

/// The actions of the engine, the server, and the clock in a life cycle run.
extension LifecycleRun {
    func changeObject() {
        let resource = Int.random(in: 0..<Self.resourceCount, using: &generator)
        objects[resource] = newObject()
        note("the object of \(resource) changes, \(objects[resource].content.length) bytes")
    }

    /// Performs one step of a random resource's exchange.
    func serve() async {
        let running = transfers.indices.filter { transfers[$0].exchange != nil }
        guard let resource = running.randomElement(using: &generator), let exchange = transfers[resource].exchange
        else { return }
        if transfers[resource].isStopped {
            // Rule 55: bytes that an engine delivers after it was canceled are dropped.
            if chance(2) { exchange.deliver(Int64.random(in: 1...5000, using: &generator)) }
            return await endStopped(resource)
        }
        if exchange.object == nil {
            await answer(exchange, resource)
        } else {
            await body(exchange, resource)
        }
    }

    private func answer(_ exchange: SteppedExchange, _ resource: Int) async {
        switch Int.random(in: 0..<20, using: &generator) {
        case 0..<14:
            answerHonestly(exchange, resource)
        case 14..<16:
            refuse(exchange, resource)
        case 16:
            note("\(resource): response 404")
            exchange.refuse(404)
            ended(resource, .advance)
            for caller in active(to: resource) { caller.outcome = .failed }
            await fixture.waitUntilIdle()
            transfers[resource].end(keepingBytes: true)
        default:
            cut(exchange, resource)
        }
    }

    /// Refuses a request, possibly with a cool-down, which ends whenever the clock is moved.
    private func refuse(_ exchange: SteppedExchange, _ resource: Int) {
        let coolDown = sendsRetryAfter && chance(2) ? Int.random(in: 1...4, using: &generator) : nil
        let status = chance(2) ? 503 : 429
        note("\(resource): response \(status), Retry-After \(coolDown.map(String.init) ?? "none")")
        if coolDown == nil { untimedRefusalCount += 1 }
        // Fewer refusals without a time don't delay other requests.
        if coolDown != nil || untimedRefusalCount >= 8 { mayBePaced = true }
        if coolDown != nil {
            // A 503 may concern this resource only.
            coolingDown.formUnion(status == 429 ? Array(objects.indices) : [resource])
        }
        exchange.refuse(status, coolDown.map { ["Retry-After": "\($0)"] } ?? [:])
        ended(resource, .delay)
    }

    private func answerHonestly(_ exchange: SteppedExchange, _ resource: Int) {
        let isPartial = exchange.answer(objects[resource])
        transfers[resource].lastActivity = fixture.time.now
        note("\(resource): response \(isPartial ? "206" : "200")")
        if isPartial {
            check(transfers[resource].bytes.object == objects[resource], "a range of another object was requested")
        } else {
            transfers[resource].bytes = .init(count: 0, object: objects[resource])
        }
    }

    private func body(_ exchange: SteppedExchange, _ resource: Int) async {
        switch Int.random(in: 0..<10, using: &generator) {
        case 0..<6: deliver(Int64.random(in: 1...4000, using: &generator), exchange, resource)
        case 6: cut(exchange, resource)
        case 7:
            // Engines that do not count bytes report a truncated body as complete.
            note("\(resource): reported as complete with \(exchange.remainingByteCount) bytes missing")
            let next = exchange.remainingByteCount == 0 ? ReferenceTransfer.Next.advance : .delay
            exchange.end(.complete)
            ended(resource, next)
        default: await finishExchange(resource)
        }
    }

    private func deliver(_ count: Int64, _ exchange: SteppedExchange, _ resource: Int) {
        guard exchange.remainingByteCount > 0 else { return }
        note("\(resource): \(count) of \(exchange.remainingByteCount) bytes")
        transfers[resource].bytes.count += min(count, exchange.remainingByteCount)
        transfers[resource].lastActivity = fixture.time.now
        exchange.deliver(count)
    }

    private func cut(_ exchange: SteppedExchange, _ resource: Int) {
        note("\(resource) is cut")
        exchange.end(.failed(DownloadError(.connectionLost)))
        ended(resource, .delay)
    }

    /// Completes the exchange of a resource, after responding to it if necessary.
    func finishExchange(_ resource: Int) async {
        if transfers[resource].isStopped { return await endStopped(resource) }
        guard let exchange = transfers[resource].exchange else { return }
        if exchange.object == nil {
            answerHonestly(exchange, resource)
            await waitUntilIdle()
        }
        deliver(exchange.remainingByteCount, exchange, resource)
        note("\(resource) ends")
        exchange.end(.complete)
        ended(resource, .advance)
        await waitUntilIdle()
    }

    /// Ends a canceled exchange.
    func endStopped(_ resource: Int) async {
        guard let exchange = transfers[resource].exchange else { return }
        note("\(resource) ends cancelled")
        await fixture.waitUntilIdle()
        check(exchange.isCancelled, "an unneeded exchange was not canceled")
        exchange.end(.cancelled)
        ended(resource, transfers[resource].next)
        await fixture.waitUntilIdle()
    }

    private func ended(_ resource: Int, _ next: ReferenceTransfer.Next) {
        transfers[resource].exchange = nil
        transfers[resource].isStopped = false
        transfers[resource].isDelayed = next == .delay && isWanted(resource)
    }

    /// Moves the clock, after which no delay is left.
    func advance(_ delay: Duration) async {
        for resource in transfers.indices where transfers[resource].isStopped {
            // An engine that takes longer is abandoned, which other tests cover.
            if transfers[resource].stoppedFor + delay > Self.idleTimeout / 2 { await endStopped(resource) }
        }
        await waitUntilIdle()
        note("\(delay) pass")
        coolingDown = []
        for resource in transfers.indices {
            transfers[resource].isDelayed = false
            let idle = fixture.time.now + delay - transfers[resource].lastActivity
            if transfers[resource].exchange != nil, idle >= Self.idleTimeout {
                transfers[resource].stop(.delay)
                mayBePaced = true
            }
            transfers[resource].stoppedFor += delay
        }
        fixture.time.advance(by: delay)
        await waitUntilIdle()
    }
}
