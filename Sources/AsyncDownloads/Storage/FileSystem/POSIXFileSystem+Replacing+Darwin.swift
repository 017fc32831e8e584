#if canImport(Darwin)
internal import Darwin
package import Foundation

extension POSIXFileSystem {
    package func makeReplacementDirectory(for path: String) throws(FileFailure) -> String? {
        do {
            return try FileManager.default.url(
                for: .itemReplacementDirectory, in: .userDomainMask,
                appropriateFor: URL(fileURLWithPath: path, isDirectory: false), create: true
            ).path
        } catch {
            throw Self.failure(error as NSError, "create a directory for replacing", path)
        }
    }

    package func removeReplacementDirectory(_ path: String) {
        // Only an empty directory is removed: a file that a failed replacement left there may be the only copy of the
        // original file.
        _ = path.withCString { rmdir($0) }
    }

    package func replaceItem(at path: String, by source: String) throws(FileFailure) {
        let (original, new) = (
            URL(fileURLWithPath: path, isDirectory: false), URL(fileURLWithPath: source, isDirectory: false)
        )
        do {
            // By default, the new file would get the permissions and the creation date of the replaced one.
            _ = try FileManager.default.replaceItemAt(original, withItemAt: new, options: .usingNewMetadataOnly)
        } catch {
            throw Self.failure(error as NSError, "replace", path)
        }
    }

    package func access(to url: URL) -> (any AnyObject & Sendable)? { ScopedAccess(url) }

    private static func failure(_ error: NSError, _ operation: String, _ path: String) -> FileFailure {
        let name = PartialNames.lastComponent(of: path)
        if let number = error.underlyingNumber { return failure(Int32(clamping: number), operation, name) }
        return FileFailure(
            .other, errno: 0, operation: operation, name: name, reason: "\(error.domain) \(error.code)")
    }
}

/// The access to a security-scoped URL, which ends when the last reference is released.
private final class ScopedAccess: Sendable {
    private let url: URL

    init?(_ url: URL) {
        // A URL that was made from a path has no scope.
        guard url.startAccessingSecurityScopedResource() else { return nil }
        self.url = url
    }

    deinit { url.stopAccessingSecurityScopedResource() }
}
#endif
