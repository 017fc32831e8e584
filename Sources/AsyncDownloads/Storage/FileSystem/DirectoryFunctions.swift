/// The functions of a file system by which one directory replaces another one.
package protocol DirectoryFunctions: Sendable {
    /// Gives the directory the owner, the group, and the permissions of another one.
    ///
    /// - Throws: ``FileFailure/Kind/denied`` if this process may not give it this owner or group.
    func copyPermissions(of other: String, to path: String) throws(FileFailure)

    /// Removes the directory.
    ///
    /// - Throws: ``FileFailure/Kind/exists`` if the directory contains anything.
    func removeDirectory(_ path: String) throws(FileFailure)

    /// Gives the object at `path`, which isn't a directory, a second name.
    ///
    /// - Throws: ``FileFailure/Kind/exists`` if an object has the name; ``FileFailure/Kind/denied`` or
    ///   ``FileFailure/Kind/unsupported`` if the volume or the system doesn't permit a second name.
    func link(_ path: String, as other: String) throws(FileFailure)

    /// Exchanges the names of two directories of one volume, so that both names exist at every time.
    ///
    /// - Throws: ``FileFailure/Kind/unsupported`` if the volume doesn't support it.
    func exchange(_ path: String, with other: String) throws(FileFailure)
}

extension DirectoryFunctions {
    package func copyPermissions(of other: String, to path: String) throws(FileFailure) {
        throw unsupported("set the permissions of", path)
    }

    package func removeDirectory(_ path: String) throws(FileFailure) { throw unsupported("remove", path) }

    package func link(_ path: String, as other: String) throws(FileFailure) { throw unsupported("link", path) }

    package func exchange(_ path: String, with other: String) throws(FileFailure) {
        throw unsupported("exchange", path)
    }

    private func unsupported(_ operation: String, _ path: String) -> FileFailure {
        FileFailure(
            .unsupported, errno: 0, operation: operation, name: PartialNames.lastComponent(of: path),
            reason: "the file system has no such function")
    }
}
