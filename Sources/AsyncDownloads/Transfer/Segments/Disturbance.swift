/// A change of the other transfers of a downloader, after which rates aren't comparable with earlier ones.
enum Disturbance: Sendable, Hashable {
    /// Another large file has changed its number of connections, or has begun or stopped to measure its rate.
    case otherNumber
    /// A transfer has started or ended.
    case otherTransfer
    /// A large file from the same origin has ended, and has left its share of the rate to the others.
    case departure
}
