#if !canImport(Darwin)
internal import Dispatch

#if canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// The network path of the machine, which is satisfied while an interface other than the loopback interface is usable.
///
/// The kernel reports each change of a link or an address (rtnetlink(7)), after which the interfaces are examined
/// again. If these reports are unavailable, as in some sandboxes, the path always counts as satisfied.
final class SystemPathMonitor: PathMonitor {
    /// The monitor of this process, which starts with its first use and is never stopped.
    static let shared = SystemPathMonitor()

    private struct Watch: @unchecked Sendable {  // A source may be used on any thread.
        let source: any DispatchSourceRead
    }

    private let present = ManualPathMonitor()
    private let watch: Watch?

    private init() {
        guard let socket = RouteSocket() else {
            watch = nil
            return
        }
        let source = DispatchSource.makeReadSource(
            fileDescriptor: socket.number, queue: DispatchQueue(label: "async-downloads.network-path", qos: .utility))
        watch = Watch(source: source)
        source.setEventHandler { [unowned self] in
            socket.drain()
            refresh()
        }
        refresh()
        source.activate()
    }

    var path: NetworkPath { present.path }

    func refresh() {
        guard watch != nil else { return }
        present.update { path in
            path.isSatisfied = NetworkInterface.all.map { $0.contains(where: \.isUsable) } ?? true
        }
    }

    func observe(_ body: @escaping @Sendable (NetworkPath) -> Void) -> any ScheduledAction { present.observe(body) }
}

/// A socket on which the kernel reports changes of links and addresses; its descriptor is never closed.
private struct RouteSocket: Sendable {
    let number: Int32

    /// The address of a netlink socket (netlink(7)), which the C library's module doesn't declare.
    private struct Address {
        var family = UInt16(16)  // AF_NETLINK
        var padding = UInt16(0)
        var port = UInt32(0)
        var groups = UInt32(0x1 | 0x10 | 0x100)  // RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR
    }

    #if canImport(Musl)
    private static let type = SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK
    #else
    private static let type = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    #endif

    /// Opens a socket; nil if the system doesn't permit that.
    init?() {
        let address = Address()
        number = socket(Int32(address.family), Self.type, 0)  // NETLINK_ROUTE
        guard number >= 0 else { return nil }
        let isBound = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(number, $0, socklen_t(MemoryLayout<Address>.size)) == 0
            }
        }
        guard isBound else {
            _ = close(number)
            return nil
        }
    }

    /// Reads the reports that are available, whose content isn't needed.
    func drain() {
        var bytes = [UInt8](repeating: 0, count: 8192)
        // A full buffer of the socket is reported as an error, after which reading continues.
        while true {
            let count = recv(number, &bytes, bytes.count, 0)
            guard count > 0 || count < 0 && (errno == EINTR || errno == ENOBUFS) else { return }
        }
    }
}

/// A network interface with one of its addresses.
struct NetworkInterface: Sendable, Hashable {
    /// The flags of the interface (netdevice(7)).
    struct Flags: OptionSet, Sendable, Hashable {
        let rawValue: UInt32

        static let up = Self(rawValue: 0x1)
        static let loopback = Self(rawValue: 0x8)
        static let running = Self(rawValue: 0x40)
    }

    let flags: Flags
    /// The address in network byte order: 4 bytes for IPv4, or 16 for IPv6.
    let address: [UInt8]

    /// Whether the interface may lead to another machine.
    ///
    /// A loopback interface may also have global addresses, with which other machines can be reached.
    var isUsable: Bool {
        guard flags.contains([.up, .running]) else { return false }
        return !flags.contains(.loopback) || !isLoopbackAddress
    }

    private var isLoopbackAddress: Bool {
        address.count == 4 ? address.first == 127 : address.dropLast().allSatisfy { $0 == 0 }
    }

    /// The interfaces of this machine, one element for each address; nil if the system doesn't list them.
    static var all: [Self]? {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return nil }
        defer { freeifaddrs(first) }
        var interfaces: [Self] = []
        var next = first
        while let entry = next?.pointee {
            next = entry.ifa_next
            guard let pointer = entry.ifa_addr, let address = address(at: pointer) else { continue }
            interfaces.append(Self(flags: Flags(rawValue: UInt32(entry.ifa_flags)), address: address))
        }
        return interfaces
    }

    /// Returns the address that a `sockaddr` contains; nil if it isn't an IPv4 or IPv6 address.
    ///
    /// The bytes are read at fixed offsets (ip(7), ipv6(7)), because several modules declare the structures.
    private static func address(at pointer: UnsafePointer<sockaddr>) -> [UInt8]? {
        let bytes = UnsafeRawPointer(pointer)
        let (offset, count): (Int, Int)
        switch Int32(bytes.loadUnaligned(as: UInt16.self)) {
        case AF_INET: (offset, count) = (4, 4)
        case AF_INET6: (offset, count) = (8, 16)
        default: return nil
        }
        return (0..<count).map { bytes.load(fromByteOffset: offset + $0, as: UInt8.self) }
    }
}
#endif
