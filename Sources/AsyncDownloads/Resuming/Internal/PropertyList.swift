/// A property list whose values are read one at a time.
///
/// A collection refers to its elements by number and isn't expanded. A list that shares values, nests deeply, or
/// contains itself therefore costs no more than the values that are read. Both of Foundation's readers expand the list.
/// On Linux (Swift 6.3), PropertyListSerialization never returns for a binary list of 2 KB that doubles itself 40
/// times, and its UIDs can't be read; PropertyListDecoder terminates the process for deeply nested lists.
protocol PropertyList {
    /// The number of the outermost value.
    var root: Int { get }

    /// Returns the value with this number, or `nil` if it doesn't exist or can't be read.
    func value(at number: Int) -> PropertyListValue?
}

/// A property-list value of a kind that resume data uses.
enum PropertyListValue: Sendable, Hashable {
    case string(String)
    case integer(Int64)
    /// The numbers of the elements.
    case array([Int])
    /// The numbers of the values, by key.
    case dictionary([String: Int])
    /// The position in a keyed archive's list of objects that a UID stands for.
    case reference(Int)
    /// A value of a kind that isn't needed: data, a date, a Boolean value, or a fraction.
    case other
}
