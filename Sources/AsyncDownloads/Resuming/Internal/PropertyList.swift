/// A property list whose values are looked at one by one.
///
/// Nothing is expanded: a value names the values inside it by number, so that lists which share values, nest deeply or
/// contain themselves cost no more than what is asked of them. Foundation's two readers do expand. On Linux (6.3)
/// PropertyListSerialization never comes back from a binary list of 2 KB that doubles itself 40 times, and its UIDs
/// cannot be read; PropertyListDecoder ends the process on deep nesting.
protocol PropertyList {
    /// The number of the outermost value.
    var root: Int { get }

    /// The value of this number; nil where there is none, or none that can be read.
    func value(at number: Int) -> PropertyListValue?
}

/// What resume data needs to know of a value.
enum PropertyListValue: Sendable, Hashable {
    case string(String)
    case integer(Int64)
    /// The numbers of the elements.
    case array([Int])
    /// The numbers of the values, by key.
    case dictionary([String: Int])
    /// The position in a keyed archive's list of objects that a UID stands for.
    case reference(Int)
    /// A value of a kind that is of no interest: data, dates, truth values and fractions.
    case other
}
