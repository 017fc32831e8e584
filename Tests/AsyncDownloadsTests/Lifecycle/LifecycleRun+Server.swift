import LoopbackServer

@testable import AsyncDownloads

/// What the engine, the server and the clock do in a lifecycle run.
extension LifecycleRun {
    func changeObject() {
        let resource = Int.random(in: 0..<Self.resourceCount, using: &generator)
        objects[resource] = newObject()
        note("the object of \(resource) changes, \(objects[resource].content.length) bytes")
    }

    /// Lets the exchange of some resource take a step.
    func serve() async {
        let running = transfers.indices.filter { transfers[$0].exchange != nil }
        guard let resource = running.randomElement(using: &generator), let exchange = transfers[resource].exchange
        else { return }
        if transfers[resource].isStopped {
            // Rule 55: what an engine delivers after it was told to stop counts for nothing.
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
            note("\(resource) is answered 503")
            exchange.refuse(503, chance(2) ? ["Retry-After": "3"] : [:])
            ended(resource, .delay)
        case 16:
            note("\(resource) is answered 404")
            exchange.refuse(404)
            ended(resource, .advance)
            for caller in active(to: resource) { caller.outcome = .failed }
            await stage.performEffects()
            transfers[resource].end(keepingBytes: true)
        default:
            cut(exchange, resource)
        }
    }

    private func answerHonestly(_ exchange: SteppedExchange, _ resource: Int) {
        let isPartial = exchange.answer(objects[resource])
        transfers[resource].lastActivity = stage.time.now
        note("\(resource) is answered \(isPartial ? "206" : "200")")
        if isPartial {
            check(transfers[resource].bytes.object == objects[resource], "a range of another object was asked for")
        } else {
            transfers[resource].bytes = .init(count: 0, object: objects[resource])
        }
    }

    private func body(_ exchange: SteppedExchange, _ resource: Int) async {
        switch Int.random(in: 0..<10, using: &generator) {
        case 0..<6: deliver(Int64.random(in: 1...4000, using: &generator), exchange, resource)
        case 6: cut(exchange, resource)
        case 7:
            // A body that stops short is called complete by engines that do not count.
            note("\(resource) is called complete with \(exchange.left) bytes missing")
            let next = exchange.left == 0 ? ReferenceTransfer.Next.advance : .delay
            exchange.end(.complete)
            ended(resource, next)
        default: await finishExchange(resource)
        }
    }

    private func deliver(_ count: Int64, _ exchange: SteppedExchange, _ resource: Int) {
        guard exchange.left > 0 else { return }
        note("\(resource) gets \(count) bytes of \(exchange.left)")
        transfers[resource].bytes.count += min(count, exchange.left)
        transfers[resource].lastActivity = stage.time.now
        exchange.deliver(count)
    }

    private func cut(_ exchange: SteppedExchange, _ resource: Int) {
        note("\(resource) is cut")
        exchange.end(.failed(DownloadError(.connectionLost)))
        ended(resource, .delay)
    }

    /// Lets the exchange answer if it has not, and bring all there is.
    func finishExchange(_ resource: Int) async {
        if transfers[resource].isStopped { return await endStopped(resource) }
        guard let exchange = transfers[resource].exchange else { return }
        if exchange.object == nil {
            answerHonestly(exchange, resource)
            await performEffects()
        }
        deliver(exchange.left, exchange, resource)
        note("\(resource) ends")
        exchange.end(.complete)
        ended(resource, .advance)
        await performEffects()
    }

    /// Gives a cancelled exchange its end.
    func endStopped(_ resource: Int) async {
        guard let exchange = transfers[resource].exchange else { return }
        note("\(resource) ends cancelled")
        await stage.performEffects()
        check(exchange.isCancelled, "nobody has cancelled an exchange that is of no use")
        exchange.end(.cancelled)
        ended(resource, transfers[resource].next)
        await stage.performEffects()
    }

    private func ended(_ resource: Int, _ next: ReferenceTransfer.Next) {
        transfers[resource].exchange = nil
        transfers[resource].isStopped = false
        transfers[resource].isDelayed = next == .delay && isWanted(resource)
    }

    /// Lets time pass, after which no delay is left.
    func advance(_ delay: Duration) async {
        for resource in transfers.indices where transfers[resource].isStopped {
            // An engine that takes longer is left behind, which other tests try.
            if transfers[resource].stoppedFor + delay > Self.idleTimeout / 2 { await endStopped(resource) }
        }
        await performEffects()
        note("\(delay) pass")
        for resource in transfers.indices {
            transfers[resource].isDelayed = false
            let idle = stage.time.now + delay - transfers[resource].lastActivity
            if transfers[resource].exchange != nil, idle >= Self.idleTimeout { transfers[resource].stop(.delay) }
            transfers[resource].stoppedFor += delay
        }
        stage.time.advance(by: delay)
        await performEffects()
    }
}
