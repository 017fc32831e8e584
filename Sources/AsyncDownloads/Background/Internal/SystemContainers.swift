internal import Foundation

/// The directories of this process.
package struct SystemContainers: Containers {
    package init() {}

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
