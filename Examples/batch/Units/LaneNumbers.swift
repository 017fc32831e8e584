/// The numbers of the lanes of hosts, which hosts get in the order of their first lines.
struct LaneNumbers {
    /// The largest number of lanes, and so of tasks that have something to do.
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
