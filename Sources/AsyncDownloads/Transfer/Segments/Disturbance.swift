/// A change among the other transfers of a downloader, after which rates are not comparable with earlier ones.
enum Disturbance: Sendable, Hashable {
    /// Another large file has changed its number of connections, or has begun or stopped measuring its rate.
    case otherNumber
    /// A transfer has started or ended.
    case otherTransfer
    /// A large file from the same origin has ended, so the others can use its share of the rate.
    case departure
}
