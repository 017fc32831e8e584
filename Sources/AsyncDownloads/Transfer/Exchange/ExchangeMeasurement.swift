internal import Foundation

/// The measurements of one exchange, which are passed to an observer when the exchange ends.
struct ExchangeMeasurement: Sendable {
    private var record: ExchangeRecord
    private let observer: @Sendable (ExchangeRecord) -> Void
    private let time: any TimeSource
    private let start: Duration

    /// Starts the measurement.
    init(_ record: ExchangeRecord, _ observer: @escaping @Sendable (ExchangeRecord) -> Void, _ time: any TimeSource) {
        (self.record, self.observer, self.time) = (record, observer, time)
        start = time.now
        self.record.startDate = Date(timeIntervalSince1970: Double(time.date.secondsSinceEpoch))
    }

    /// Records the connection on which the exchange takes place.
    mutating func uses(_ connection: ExchangeConnection) {
        (record.isConnectionReused, record.protocolName) = (connection.isReused, connection.protocolName)
    }

    /// Records the head of the response.
    mutating func received(_ head: ResponseHead) {
        (record.statusCode, record.timeToHead) = (head.statusCode, time.now - start)
    }

    /// Records bytes of the body.
    mutating func received(_ byteCount: Int) {
        record.byteCount += Int64(byteCount)
    }

    /// Records the end, and returns a closure that passes the record to the observer; to be called without a lock.
    mutating func ended(_ end: ExchangeEnd) -> @Sendable () -> Void {
        record.duration = time.now - start
        switch end {
        case .complete: record.errorCode = nil
        case .cancelled, .cancelledWhileConnecting: record.errorCode = .cancelled
        case .failed(let error): record.errorCode = error.code
        }
        return { [observer, record] in observer(record) }
    }
}
