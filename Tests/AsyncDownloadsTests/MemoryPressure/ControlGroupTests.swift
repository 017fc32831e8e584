#if os(Linux)
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("The control group of a process", .endsWhenHung)
struct ControlGroupTests {
    private static let unified = "30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev shared:4 - cgroup2 cgroup2 rw,nsdelegate"
    private static let hybrid = """
        31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
        35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
        41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
        """
    private static let container = "900 800 0:26 /docker/4f /sys/fs/cgroup ro master:11 - cgroup2 cgroup rw"

    @Test(arguments: [
        ("0::/", unified, "/sys/fs/cgroup"),
        ("0::/user.slice/app.service\n", unified, "/sys/fs/cgroup/user.slice/app.service"),
        ("9:name=systemd:/\n4:memory:/limited\n0::/init", hybrid, "/sys/fs/cgroup/unified/init"),
        ("0::/docker/4f", container, "/sys/fs/cgroup"),
        ("0::/docker/4f/worker", container, "/sys/fs/cgroup/worker"),
        ("0::/a:b", unified, "/sys/fs/cgroup/a:b"),
        ("0::/w", "1 2 0:3 / /my\\040groups\\134x rw - cgroup2 none rw", "/my groups\\x/w"),
        ("0::/w", "1 2 0:3 / /x\\04 rw - cgroup2 none rw", "/x\\04/w"),
        ("0::/w", "1 2 0:3 / /x\\999 rw - cgroup2 none rw", "/x\\999/w"),
        ("0::/w", "1 2 0:3 / / rw - cgroup2 none rw", "/w"),
        ("0::/w", "1 2 0:3 / /a rw master:1 propagate_from:2 unbindable - cgroup2 none rw", "/a/w"),
        ("0::/docker/4f", "\(container)\n\(unified)", "/sys/fs/cgroup"),
        ("0::/other", "\(container)\n\(unified)", "/sys/fs/cgroup/other"),
    ])
    func `the directory of a control group follows from its path and the mounts`(
        _ membership: String, _ mounts: String, _ path: String
    ) {
        #expect(ControlGroup.directory(membership: membership, mounts: mounts) == path)
    }

    @Test(arguments: [
        ("", unified),
        ("0::/", ""),
        ("4:memory:/limited\n", unified),
        ("10::/x", unified),
        ("0:cpu:/x", unified),
        ("0::", unified),
        ("0::/../sibling", unified),
        ("0::/docker/4", container),
        ("0::/docker/4ff", container),
        ("0::/", container),
        ("0::/x", "31 23 0:28 / /sys/fs/cgroup rw - tmpfs cgroup2 rw"),
        ("0::/x", "31 23 0:28 / /sys/fs/cgroup rw cgroup2"),
        ("0::/x", "31 23 - cgroup2 cgroup2 rw"),
        ("0::/x", "31 23 0:28 / /x rw -"),
        ("\0::/x", " - \n-\n\n- - - - - - -"),
    ])
    func `a control group that is not visible has no directory`(_ membership: String, _ mounts: String) {
        #expect(ControlGroup.directory(membership: membership, mounts: mounts) == nil)
    }
}
#endif
