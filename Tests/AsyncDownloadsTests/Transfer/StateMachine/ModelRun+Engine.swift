@testable import AsyncDownloads

/// The engine: a head, then the body in parts, then one end, with faults at any point.
extension ModelRun {
    mutating func engineReports() {
        guard let current = exchange else { return }
        if current.isCancelled, Int.random(in: 0..<3, using: &generator) > 0 { return end(.cancelled) }
        if networkFails() { return }
        // Nothing is read while the body is held back, but an engine may know that the body is empty.
        if current.isHeldBack { return current.response?.body.isEmpty == true ? end(.complete) : () }
        if current.response == nil { return head(current) }
        body()
    }

    private mutating func networkFails() -> Bool {
        guard server.faults > 0, Int.random(in: 0..<25, using: &generator) == 0 else { return false }
        server.faults -= 1
        switch Int.random(in: 0..<4, using: &generator) {
        case 0:
            history.append("stall")
            exchange?.isStalled = true
        case 1 where !isPassing: end(.failed(DownloadError(.secureConnectionFailed)))
        case 2 where exchange?.response?.isFramed == true && exchange?.response?.headers["Content-Length"] != nil:
            // Engines that do not count bytes report a truncated body as complete.
            end(.complete)
        default: end(.failed(DownloadError(.connectionLost)))
        }
        return true
    }

    private mutating func head(_ current: Exchange) {
        let response = server.answer(
            current.request, engineDecodes: machine.settings.decodesContent, using: &generator)
        exchange?.response = response
        exchange?.isInCallback = true
        defer { leaveCallback() }
        let head = ResponseHead(status: StatusCode(response.status), headers: response.headers)
        let (reply, actions) = machine.headArrived(head, exchange: current.number, at: now, date: .sample)
        take("head \(response.status) \(response.headers)", actions)
        let representation: Representation
        switch reply {
        case .proceed: return
        case .holdBack:
            exchange?.isHeldBack = true
            return
        case .start(let new): representation = new
        }
        interrupt()
        let result = store.begin(representation, using: &generator)
        take("partial file started at once", machine.partialStarted(result, exchange: current.number, at: now))
    }

    private mutating func body() {
        guard let current = exchange, let response = current.response else { return }
        let left = response.body.dropFirst(current.position)
        guard !left.isEmpty else {
            // A body of undeclared length cannot be too long.
            if server.faults > 0, !isPassing, response.declaresLength, response.headers["Content-Encoding"] == nil,
                Int.random(in: 0..<20, using: &generator) == 0
            {
                server.faults -= 1
                deliver([ModelByte(version: -1, isCoded: false, position: -1)], current.number)
            }
            return end(.complete)
        }
        let count = min(left.count, Int.random(in: 1...60, using: &generator))
        exchange?.position += count
        deliver(left.prefix(count), current.number)
    }

    private mutating func deliver(_ bytes: ArraySlice<ModelByte>, _ number: ExchangeID) {
        exchange?.isInCallback = true
        defer { leaveCallback() }
        let decision = machine.bytesArrived(bytes.count, exchange: number, at: now)
        history.append("\(bytes.count) bytes: \(decision)")
        let part: ExchangeProgress.Part
        switch decision {
        case .ignore: return
        case .compare(let wanted):
            let isEqual = store.holds(bytes.dropFirst(wanted.skipped).prefix(wanted.count), at: wanted.offset)
            return take("compared", machine.compared(isEqual, exchange: number, at: now))
        case .write(let wanted): part = wanted
        }
        interrupt()
        let wanted = bytes.dropFirst(part.skipped).prefix(part.count)
        check(wanted.count == part.count, "more bytes to write than arrived")
        guard store.write(wanted, at: part.offset, using: &generator) else {
            return take("not written", machine.writeFailed(DownloadError(.diskFull), exchange: number, at: now))
        }
        interrupt()
        take("wrote \(part.count)", machine.wrote(part.count, at: part.offset, exchange: number, at: now))
    }

    private mutating func leaveCallback() {
        exchange?.isInCallback = false
        if let end = exchange?.heldEnd { self.end(end) }
    }

    /// Reports an end, or holds it as ``ExchangeReceiver`` does.
    mutating func end(_ end: ExchangeEnd) {
        guard let number = exchange?.number else { return }
        if exchange?.isInCallback == true {
            if exchange?.heldEnd == nil { exchange?.heldEnd = end }
            return
        }
        exchange = nil
        take("end \(end)", machine.exchangeEnded(end, exchange: number, at: now))
    }
}
