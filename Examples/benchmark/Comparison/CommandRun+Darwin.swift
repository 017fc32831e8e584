#if canImport(Darwin)
internal import Darwin

extension CommandRun {
    /// The selector of the costs of all children that have ended.
    static var children: Int32 { RUSAGE_CHILDREN }
}
#endif
