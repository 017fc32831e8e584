#if os(Linux)
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("The files to watch for memory pressure", .endsWhenHung)
struct PressureFileTests {
    private static let system = PressureFile.kernel("/proc/pressure/memory")
    private static let own = PressureFile.kernel("/sys/fs/cgroup/app/memory.pressure")
    /// The usual value of a service manager: `some 200000 2000000` and a zero byte.
    private static let some = "c29tZSAyMDAwMDAgMjAwMDAwMAA="

    private func candidates(_ environment: [String: String]) -> [PressureFile] {
        PressureFile.candidates(
            environment: environment, membership: "0::/app",
            mounts: "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
    }

    @Test func `the process's control group precedes the whole system`() {
        #expect(candidates([:]) == [Self.own, Self.system])
        #expect(PressureFile.candidates(environment: [:], membership: "", mounts: "") == [Self.system])
    }

    @Test func `the file that the service manager names is first, with the bytes to write`() throws {
        let files = candidates(["MEMORY_PRESSURE_WATCH": "/run/pressure", "MEMORY_PRESSURE_WRITE": "AP8KeA=="])
        #expect(files.map(\.path) == ["/run/pressure", Self.own.path, Self.system.path])
        #expect(files[0].triggers == [PressureFile.Trigger(bytes: [0, 255, 10, 120], level: .warning)])
    }

    @Test func `no bytes are written if the service manager names none`() {
        let files = candidates(["MEMORY_PRESSURE_WATCH": "/run/pressure"])
        #expect(files[0] == PressureFile(path: "/run/pressure", triggers: [.init(bytes: [], level: .warning)]))
    }

    @Test func `a trigger in the kernel's syntax is accompanied by a critical one`() {
        let files = candidates(["MEMORY_PRESSURE_WATCH": "/a/memory.pressure", "MEMORY_PRESSURE_WRITE": Self.some])
        let warning = PressureFile.Trigger(bytes: Array("some 200000 2000000\0".utf8), level: .warning)
        #expect(files[0] == PressureFile(path: "/a/memory.pressure", triggers: [warning, .full]))
    }

    @Test func `the service manager can disable watching`() {
        #expect(candidates(["MEMORY_PRESSURE_WATCH": "/dev/null", "MEMORY_PRESSURE_WRITE": Self.some]) == [])
    }

    @Test(arguments: [
        ["MEMORY_PRESSURE_WATCH": ""], ["MEMORY_PRESSURE_WATCH": "run/pressure"],
        ["MEMORY_PRESSURE_WATCH": "/run/pressure", "MEMORY_PRESSURE_WRITE": "some 200000 2000000"],
        ["MEMORY_PRESSURE_WATCH": "/run/pressure", "MEMORY_PRESSURE_WRITE": "c29tZ"],
        ["MEMORY_PRESSURE_WRITE": some],
    ])
    func `invalid environment variables are ignored`(_ environment: [String: String]) {
        #expect(candidates(environment) == [Self.own, Self.system])
    }

    @Test func `the kernel triggers need no capability and have two levels`() throws {
        for trigger in [PressureFile.Trigger.some, .full] {
            let words = String(decoding: trigger.bytes.dropLast(), as: UTF8.self).split(separator: " ")
            #expect(trigger.bytes.last == 0)
            #expect(try #require(Int(words[2])) % 2_000_000 == 0)
        }
        #expect(Self.own.triggers.map(\.level) == [.warning, .critical])
    }
}
#endif
