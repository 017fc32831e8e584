#if !canImport(Darwin)
internal import Foundation

extension CommandRun {
    /// The selector of the costs of all children that have ended, which is imported as a separate type.
    static var children: __rusage_who_t { __rusage_who_t(RUSAGE_CHILDREN.rawValue) }
}
#endif
