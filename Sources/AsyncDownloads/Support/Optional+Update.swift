extension Optional {
    /// Changes the wrapped value in place, and returns the result of `body`; nil if the optional is nil.
    mutating func update<Value>(_ body: (inout Wrapped) -> Value) -> Value? {
        guard self != nil else { return nil }
        // swift-format-ignore: NeverForceUnwrap
        return body(&self!)
    }
}
