extension FileSystem {
    /// Returns a sanitized name, changed if the volume of the directory would reject it.
    func acceptedName(_ name: String, in directory: String) -> String {
        let portable = FileName.portable(name)
        // Most names are acceptable everywhere.
        return portable.hasSameBytes(as: name) || !restrictsNames(in: directory) ? name : portable
    }
}
