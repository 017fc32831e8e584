#if os(Linux)
/// The control group of version 2 that this process belongs to.
enum ControlGroup {
    /// Its directory; nil where there is none, or where it lies outside of what is mounted here.
    ///
    /// - Parameters:
    ///   - membership: What /proc/self/cgroup says.
    ///   - mounts: What /proc/self/mountinfo says.
    static func directory(membership: String, mounts: String) -> String? {
        // The group of version 2 is number 0 and names no controllers; its path is everything behind.
        guard let line = membership.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else { return nil }
        let group = components(line.dropFirst("0::".count))
        // A group beyond the root of the namespace shows as going up from it.
        guard !group.contains("..") else { return nil }
        for mount in mounts.split(separator: "\n").compactMap(mount) {
            let root = components(mount.root)
            if group.starts(with: root) {
                let path = components(mount.point) + group.dropFirst(root.count)
                return "/" + path.joined(separator: "/")
            }
        }
        return nil
    }

    private static func components(_ path: some StringProtocol) -> [String] {
        path.split { $0 == "/" }.map { String($0) }
    }

    // ID, parent, device, root, mount point, options, any number of optional fields, a hyphen, type, source, options.
    private static func mount(_ line: Substring) -> (root: String, point: String)? {
        let fields = line.split(separator: " ")
        guard let hyphen = fields.dropFirst(6).firstIndex(of: "-"), fields[hyphen...].dropFirst().first == "cgroup2"
        else { return nil }
        return (unescaped(fields[3]), unescaped(fields[4]))
    }

    // White space and backslashes are written as a backslash and three octal digits.
    private static func unescaped(_ field: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = field.utf8
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            if byte == UInt8(ascii: "\\"), digits.count == 3,
                let escaped = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
            {
                bytes.append(escaped)
                rest.removeFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
#endif
