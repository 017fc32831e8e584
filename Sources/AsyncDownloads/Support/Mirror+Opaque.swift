extension Mirror {
    /// A mirror that shows nothing of its subject, for types whose fields may hold secrets.
    ///
    /// `dump`, debuggers and test frameworks then print the subject's description alone.
    static func opaque(_ subject: some Any) -> Mirror {
        Mirror(subject, children: EmptyCollection<Mirror.Child>())
    }
}
