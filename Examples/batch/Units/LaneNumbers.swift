/// The lane numbers of hosts, which are assigned in the order of the hosts' first lines.
struct LaneNumbers {
    /// The maximum number of lanes, and therefore of tasks that have work.
    static let count = 1024

    private var lanes: [String: Int] = [:]

    /// Returns the number of the lane that contains all lines of a host.
    mutating func lane(ofHost host: String) -> Int {
        if let lane = lanes[host] { return lane }
        let lane = lanes.count % Self.count
        lanes[host] = lane
        return lane
    }
}
