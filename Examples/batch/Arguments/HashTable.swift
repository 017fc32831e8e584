/// A dictionary whose keys are hash values, for a large number of keys.
///
/// The standard library's dictionary doubles its capacity, so that a million keys would take 25 MB, and more while they
/// are copied. This one takes 12 bytes for each slot and grows by a quarter, in parts, so that a copy is short.
struct HashTable: Sendable {
    private var parts: [Part]

    init() { parts = Array(repeating: Part(), count: 16) }

    /// The value of a key; setting nil has no effect.
    subscript(key: Int) -> UInt32? {
        get { parts[key & 15][key] }
        set { if let newValue { parts[key & 15].set(key, newValue) } }
    }

    /// The number of slots, each of which takes 12 bytes.
    var slotCount: Int { parts.map(\.slotCount).reduce(0, +) }
}

/// Open addressing with linear probing.
private struct Part: Sendable {
    /// The keys of the slots; 0 marks an empty slot.
    private var keys: [Int] = []
    private var values: [UInt32] = []
    private var count = 0

    var slotCount: Int { keys.count }

    subscript(key: Int) -> UInt32? {
        guard !keys.isEmpty else { return nil }
        let slot = slot(of: Self.stored(key))
        return keys[slot] == 0 ? nil : values[slot]
    }

    mutating func set(_ key: Int, _ value: UInt32) {
        // With more keys, the search for an empty slot would take long.
        if count >= keys.count / 8 * 7 { grow() }
        let key = Self.stored(key)
        let slot = slot(of: key)
        if keys[slot] == 0 { count += 1 }
        (keys[slot], values[slot]) = (key, value)
    }

    /// Returns the key that a slot contains, which isn't 0; two keys share one, which is as unlikely as equal hash values.
    private static func stored(_ key: Int) -> Int { key == 0 ? 1 << 32 : key }

    /// Returns the slot of a key, or the empty slot where it belongs.
    private func slot(of key: Int) -> Int {
        var slot = Int((UInt(bitPattern: key) >> 4) % UInt(keys.count))
        while keys[slot] != 0, keys[slot] != key { slot = slot + 1 == keys.count ? 0 : slot + 1 }
        return slot
    }

    private mutating func grow() {
        let (oldKeys, oldValues) = (keys, values)
        let newCount = (keys.count + keys.count / 4 + 16) / 8 * 8
        keys = Array(repeating: 0, count: newCount)
        values = Array(repeating: 0, count: newCount)
        for (key, value) in zip(oldKeys, oldValues) where key != 0 {
            let slot = slot(of: key)
            (keys[slot], values[slot]) = (key, value)
        }
    }
}
