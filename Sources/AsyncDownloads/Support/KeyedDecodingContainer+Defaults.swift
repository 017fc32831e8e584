extension KeyedDecodingContainer {
    /// Replaces `value`, which has its default, by the recorded value if there is one.
    ///
    /// A record of an earlier version doesn't contain the fields that were added since.
    func read<Value: Decodable>(_ key: Key, into value: inout Value) throws {
        if let recorded = try decodeIfPresent(Value.self, forKey: key) { value = recorded }
    }
}
