#if os(Linux)
internal import Foundation

#if canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// A thread that waits for signals of memory pressure until it is stopped or no descriptor is left.
///
/// It is a thread of its own since a dispatch source cannot wait for the condition by which the kernel signals. The
/// thread alone touches the descriptors, and closes them; closing what it polls from elsewhere could hit a stranger's
/// file of the same number.
final class PressurePolling: Sendable {
    /// Our end of a connection whose other end the thread polls; nil when somebody has taken it to close it.
    private let wake: Mutex<Int32?>

    /// Takes the descriptors over; where no thread can be woken up, they are closed and the answer is nil.
    ///
    /// - Parameters:
    ///   - handler: Called on the thread with the highest level that was signalled.
    ///   - ended: Called on the thread when no descriptor will signal any more.
    init?(
        _ descriptors: [PressureDescriptor], handler: @escaping @Sendable (MemoryPressure) -> Void,
        ended: @escaping @Sendable () -> Void
    ) {
        guard let (near, far) = StreamSocket.pair() else {
            for descriptor in descriptors { _ = systemClose(descriptor.number) }
            return nil
        }
        wake = Mutex(near)
        let thread = Thread { [self] in
            let isStopped = Self.poll(descriptors, wake: far, handler)
            stop()
            if !isStopped { ended() }
        }
        thread.name = "memory-pressure"
        thread.start()
    }

    /// Ends the thread, which closes everything; again, or after its end, does nothing.
    func stop() {
        let near = wake.withLock { wake in
            defer { wake = nil }
            return wake
        }
        if let near { _ = systemClose(near) }
    }

    /// Polls until woken up, or until no descriptor is left; whether it was woken up.
    private static func poll(
        _ descriptors: [PressureDescriptor], wake: Int32, _ handler: (MemoryPressure) -> Void
    ) -> Bool {
        var open = descriptors
        defer {
            for descriptor in open { _ = systemClose(descriptor.number) }
            _ = systemClose(wake)
        }
        while !open.isEmpty {
            var polled = open.map { pollfd(fd: $0.number, events: $0.awaitedEvents, revents: 0) }
            polled.append(pollfd(fd: wake, events: Int16(POLLIN), revents: 0))
            guard systemPoll(&polled) >= 0 else {
                if errno == EINTR { continue }
                return false
            }
            if polled[open.count].revents != 0 { return true }
            var signalled = MemoryPressure.normal
            var ended: [Int] = []
            for (index, descriptor) in open.enumerated() where polled[index].revents != 0 {
                let finding = descriptor.finding(polled[index].revents)
                if finding.isSigned { signalled = max(signalled, descriptor.level) }
                if finding.isAtEnd { ended.append(index) }
            }
            for index in ended.reversed() { _ = systemClose(open.remove(at: index).number) }
            if signalled > .normal { handler(signalled) }
        }
        return false
    }
}

extension PressureDescriptor {
    fileprivate var awaitedEvents: Int16 { Int16(carriesBytes ? POLLIN : POLLPRI) }

    /// Whether there was pressure, and whether there will be no more of it.
    fileprivate func finding(_ events: Int16) -> (isSigned: Bool, isAtEnd: Bool) {
        let isBroken = events & Int16(POLLERR | POLLNVAL) != 0
        // The kernel sets both conditions when the control group is gone, or no trigger was accepted.
        guard carriesBytes, !isBroken else { return (!isBroken, isBroken) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = systemRead(number, &buffer, buffer.count)
        // More than fits is one more signal; what others took meanwhile is none.
        return (count > 0, count == 0 || count < 0 && errno != EAGAIN && errno != EINTR)
    }
}

private func systemPoll(_ polled: inout [pollfd]) -> Int32 {
    poll(&polled, nfds_t(polled.count), -1)
}
#endif
