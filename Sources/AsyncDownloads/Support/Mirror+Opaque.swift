extension Mirror {
    /// Returns a mirror without children, for types whose fields may contain secrets.
    ///
    /// With such a mirror, `dump`, debuggers, and test frameworks print only the subject's description.
    static func opaque(_ subject: some Any) -> Mirror {
        Mirror(subject, children: EmptyCollection<Mirror.Child>())
    }
}
