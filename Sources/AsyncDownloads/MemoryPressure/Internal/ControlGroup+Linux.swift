#if os(Linux)
/// The control group (version 2) that this process belongs to.
enum ControlGroup {
    /// Returns the directory of the control group, or `nil` if there is none or it isn't in a mounted hierarchy.
    ///
    /// - Parameters:
    ///   - membership: The contents of /proc/self/cgroup.
    ///   - mounts: The contents of /proc/self/mountinfo.
    static func directory(membership: String, mounts: String) -> String? {
        // The version 2 group has the number 0 and no controllers; the rest of its line is the path.
        guard let line = membership.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else { return nil }
        let group = components(line.dropFirst("0::".count))
        // The path of a group outside the root of the namespace contains `..`.
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

    // The fields are: ID, parent, device, root, mount point, options, any number of optional fields, a hyphen, type,
    // source, and options.
    private static func mount(_ line: Substring) -> (root: String, point: String)? {
        let fields = line.split(separator: " ")
        guard let hyphen = fields.dropFirst(6).firstIndex(of: "-"), fields[hyphen...].dropFirst().first == "cgroup2"
        else { return nil }
        return (unescaped(fields[3]), unescaped(fields[4]))
    }

    // White space and backslashes are escaped as a backslash and three octal digits.
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
