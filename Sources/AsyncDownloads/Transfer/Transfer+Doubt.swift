/// What the store notes, and takes back, of bytes that may not be what they seem.
extension Transfer {
    func recordPartial(_ received: IntervalSet, exchange number: Int) {
        onPartial { [self] partial in
            let result = Result { () throws(DownloadError) in try partial.save(received) }
            input { $0.prepared(result, exchange: number, at: now) }
        }
    }

    func retractPartial(to received: IntervalSet) {
        onPartial { [self] partial in
            // What is in a digest cannot be taken out again.
            update { state, _ in state.digests = TransferDigests() }
            do throws(DownloadError) {
                try partial.retract(to: received)
            } catch {
                environment.log.notice("bytes were taken back, and the checkpoint does not know: \(error)")
            }
        }
    }
}
