@testable import AsyncDownloads

extension ExchangeID: ExpressibleByIntegerLiteral {
    /// Creates an identifier from its number.
    public init(integerLiteral value: Int) { self.init(rawValue: value) }
}

extension TimerID: ExpressibleByIntegerLiteral {
    /// Creates an identifier from its number.
    public init(integerLiteral value: Int) { self.init(rawValue: value) }
}

extension SubscriberID: ExpressibleByIntegerLiteral {
    /// Creates an identifier from its number.
    public init(integerLiteral value: Int) { self.init(rawValue: value) }
}

extension WaiterID: ExpressibleByIntegerLiteral {
    /// Creates an identifier from its number.
    public init(integerLiteral value: Int) { self.init(rawValue: value) }
}

extension RefreshID: ExpressibleByIntegerLiteral {
    /// Creates an identifier from its number.
    public init(integerLiteral value: Int) { self.init(rawValue: value) }
}
