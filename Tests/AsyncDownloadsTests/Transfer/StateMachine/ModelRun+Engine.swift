@testable import AsyncDownloads

/// The engine: for each exchange a head, then the body in parts, then one end, with faults at any point.
extension ModelRun {
    func exchange(_ number: ExchangeID) -> Exchange? { exchanges.first { $0.number == number } }

    mutating func updateExchange(_ number: ExchangeID, _ body: (inout Exchange) -> Void) {
        guard let index = exchanges.firstIndex(where: { $0.number == number }) else { return }
        body(&exchanges[index])
    }

    /// The exchanges that may report something; an exchange has one callback at a time.
    var readyExchanges: [Exchange] {
        exchanges.filter { !$0.isInCallback && (!$0.isStalled || $0.isCancelled) }
    }

    mutating func engineReports() {
        guard let current = readyExchanges.randomElement(using: &generator) else { return }
        if current.isCancelled, Int.random(in: 0..<3, using: &generator) > 0 {
            return end(.cancelled, of: current.number)
        }
        if networkFails(current) { return }
        // Nothing is read while the body is held back, but an engine may know that the body is empty.
        if current.isHeldBack {
            return current.response?.body.isEmpty == true ? end(.complete, of: current.number) : ()
        }
        if current.response == nil { return head(current) }
        body(current)
    }

    private mutating func networkFails(_ current: Exchange) -> Bool {
        guard server.faults > 0, Int.random(in: 0..<25, using: &generator) == 0 else { return false }
        server.faults -= 1
        switch Int.random(in: 0..<4, using: &generator) {
        case 0:
            note("\(current.number) stalls")
            updateExchange(current.number) { $0.isStalled = true }
        case 1 where !isPassing: end(.failed(DownloadError(.secureConnectionFailed)), of: current.number)
        case 2 where current.response?.isFramed == true && current.response?.headers["Content-Length"] != nil:
            // Engines that do not count bytes report a truncated body as complete.
            end(.complete, of: current.number)
        default: end(.failed(DownloadError(.connectionLost)), of: current.number)
        }
        return true
    }

    private mutating func head(_ current: Exchange) {
        let number = current.number
        // A canceled exchange keeps its connection until its end.
        let segmentCount = exchanges.filter { $0.response != nil }.count
        let response =
            segmentCount >= server.limit
            ? ModelResponse(status: 503)
            : server.answer(current.request, engineDecodes: machine.settings.decodesContent, using: &generator)
        updateExchange(number) { ($0.response, $0.isInCallback) = (response, true) }
        defer { leaveCallback(number) }
        let head = ResponseHead(status: StatusCode(response.status), headers: response.headers)
        let (reply, actions) = machine.headArrived(head, exchange: number, at: now, date: .sample)
        take("head \(response.status) \(response.headers) of \(number)", actions)
        let representation: Representation
        switch reply {
        case .proceed: return
        case .holdBack: return updateExchange(number) { $0.isHeldBack = true }
        case .start(let new): representation = new
        }
        interrupt()
        let result = store.begin(representation, using: &generator)
        take("partial file started at once", machine.partialStarted(result, exchange: number, at: now))
    }

    private mutating func body(_ current: Exchange) {
        guard let response = current.response else { return }
        let left = response.body.dropFirst(current.position)
        guard !left.isEmpty else {
            // A body of undeclared length cannot be too long.
            if server.faults > 0, !isPassing, response.declaresLength, response.headers["Content-Encoding"] == nil,
                Int.random(in: 0..<20, using: &generator) == 0
            {
                server.faults -= 1
                deliver([ModelByte(version: -1, isCoded: false, position: -1)], current.number)
            }
            return end(.complete, of: current.number)
        }
        let count = min(left.count, Int.random(in: 1...60, using: &generator))
        updateExchange(current.number) { $0.position += count }
        deliver(left.prefix(count), current.number)
    }

    private mutating func deliver(_ bytes: ArraySlice<ModelByte>, _ number: ExchangeID) {
        updateExchange(number) { $0.isInCallback = true }
        defer { leaveCallback(number) }
        let decision = machine.bytesArrived(bytes.count, exchange: number, at: now)
        note("\(bytes.count) bytes of \(number): \(decision)")
        let parts: [ExchangeProgress.Part]
        switch decision {
        case .ignore, .keepRefusal: return
        case .compare(let wanted):
            let isEqual = store.holds(bytes.dropFirst(wanted.skipped).prefix(wanted.count), at: wanted.offset)
            return take("compared", machine.compared(isEqual, exchange: number, at: now))
        case .write(let wanted): parts = wanted
        }
        for part in parts {
            interrupt()
            let range = part.offset..<part.offset + Int64(part.count)
            check(
                range.isEmpty || machine.bytes.intervals.gaps(in: range) == [range],
                "rule 53: \(range) is written although it is received")
            let wanted = bytes.dropFirst(part.skipped).prefix(part.count)
            check(wanted.count == part.count, "more bytes to write than arrived")
            guard store.write(wanted, at: part.offset, using: &generator) else {
                take("not written", machine.writeFailed(DownloadError(.diskFull), exchange: number, at: now))
                continue
            }
            interrupt()
            take("\(number) wrote \(range)", machine.wrote(part.count, at: part.offset, exchange: number, at: now))
        }
    }

    private mutating func leaveCallback(_ number: ExchangeID) {
        updateExchange(number) { $0.isInCallback = false }
        if let end = exchange(number)?.heldEnd { self.end(end, of: number) }
    }

    /// Reports an end, or holds it as ``ExchangeReceiver`` does.
    mutating func end(_ end: ExchangeEnd, of number: ExchangeID) {
        guard let current = exchange(number) else { return }
        if current.isInCallback {
            return updateExchange(number) { if $0.heldEnd == nil { $0.heldEnd = end } }
        }
        exchanges.removeAll { $0.number == number }
        take("end \(end) of \(number)", machine.exchangeEnded(end, exchange: number, at: now))
    }
}
