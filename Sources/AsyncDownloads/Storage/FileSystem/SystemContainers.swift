internal import Foundation

/// The containers of this process, as the system reports them.
package struct SystemContainers: Containers {
    package init() {}

    /// The containers whose paths change between launches, or nil on systems where directories don't move.
    package static var moving: (any Containers)? {
        #if canImport(Darwin)
        SystemContainers()
        #else
        nil
        #endif
    }

    package var home: String { NSHomeDirectory() }

    package func group(_ identifier: String) -> String? {
        #if canImport(Darwin)
        FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: identifier)?.path
        #else
        // App groups exist only on Apple platforms.
        nil
        #endif
    }
}
