extension FileName {
    /// Returns the name in a form that is accepted by volumes with the naming rules of Windows.
    ///
    /// The characters that Windows rejects are replaced by `_`, dots and white space at the end are removed, and a name
    /// that Windows reserves for a device gets the prefix `_`. A portable name is returned unchanged.
    static func portable(_ sanitized: String) -> String {
        var legal = String.UnicodeScalarView()
        for scalar in sanitized.unicodeScalars {
            legal.append("<>:\"|?*\\".unicodeScalars.contains(scalar) ? "_" : scalar)
        }
        let name = String(trimmingEnd(legal[...]))
        guard !name.isEmpty else { return "_" }
        return isReserved(name) ? String(trimmingEnd(shortened("_" + name).unicodeScalars[...])) : name
    }

    /// Returns whether Windows reserves the name for a device, with any extension.
    ///
    /// Windows also ignores white space before the extension.
    private static func isReserved(_ name: String) -> Bool {
        let stem = trimmingEnd(name.unicodeScalars.prefix { $0 != "." })
        return reservedNames.contains(Substring(stem).asciiLowercased())
    }

    private static let reservedNames: Set<String> = {
        let numbered = "123456789¹²³".flatMap { ["com\($0)", "lpt\($0)"] }
        return Set(["con", "prn", "aux", "nul", "conin$", "conout$"] + numbered)
    }()
}
