/// The groups of the conformance tables.
package enum ScenarioGroup: String, Sendable, CaseIterable, Codable {
    case plain = "correct servers, and interrupted bodies"
    case changes = "objects that change, and servers that ignore ranges or conditions"
    case untrustedPartials = "partial responses that must not be trusted"
    case bodies = "bodies that are truncated, coded, or too long"
    case temporary = "temporary statuses"
    case final = "final statuses, and statuses without the file"
    case sequences = "several faults in succession"
    case segments = "files in several segments"

    /// The rows of the group.
    package var rows: [Scenario] {
        switch self {
        case .plain: Scenario.plain
        case .changes: Scenario.changes
        case .untrustedPartials: Scenario.untrustedPartials
        case .bodies: Scenario.bodies
        case .temporary: Scenario.temporary
        case .final: Scenario.final
        case .sequences: Scenario.sequences
        case .segments: Scenario.segments
        }
    }
}
