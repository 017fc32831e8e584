/// The place of an item in the units of a task.
struct UnitPlace: Sendable, Hashable {
    /// The number of the lane.
    var lane: Int
    /// The name of the unit.
    var unit: String
    /// The number of the item in the unit, from 0 on.
    var id: Int
}
