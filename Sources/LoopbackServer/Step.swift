/// The faults of the response to one request in a resource's script.
///
/// Steps are written as arrays: `script: [[.cut(after: 1000, .reset)], [], [.delayHead(.seconds(1)), .ignoreRange]]`.
package struct Step: Sendable, Hashable, ExpressibleByArrayLiteral {
    /// The faults, which are combined in one response.
    package var faults: [Fault]

    package init(_ faults: [Fault]) {
        self.faults = faults
    }

    package init(arrayLiteral faults: Fault...) {
        self.faults = faults
    }

    /// A step without faults.
    package static let plain: Step = []
}
