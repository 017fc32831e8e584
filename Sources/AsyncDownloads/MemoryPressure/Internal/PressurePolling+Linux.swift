#if os(Linux)
internal import Foundation

#if canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// A thread that waits for signals of memory pressure until it is stopped or all descriptors have ended.
///
/// A thread is necessary because a dispatch source can't wait for the condition with which the kernel signals. Only
/// this thread uses and closes the descriptors: if another thread closed a descriptor during a poll, its number could
/// belong to an unrelated file afterward.
final class PressurePolling: Sendable {
    /// One end of a connection whose other end the thread polls; `nil` after it was taken to be closed.
    private let wake: Mutex<Int32?>

    /// Starts a thread that owns the descriptors; if the thread couldn't be woken, closes them and fails.
    ///
    /// - Parameters:
    ///   - handler: A closure that is called on the thread with the highest level that was signaled.
    ///   - ended: A closure that is called on the thread if all descriptors have ended before the thread is stopped.
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

    /// Ends the thread, which closes the descriptors; has no effect after the thread has ended.
    func stop() {
        let near = wake.withLock { wake in
            defer { wake = nil }
            return wake
        }
        if let near { _ = systemClose(near) }
    }

    /// Polls until the thread is woken or all descriptors have ended; returns whether it was woken.
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

    /// Returns whether there was pressure, and whether the descriptor has ended.
    fileprivate func finding(_ events: Int16) -> (isSigned: Bool, isAtEnd: Bool) {
        let isBroken = events & Int16(POLLERR | POLLNVAL) != 0
        // The kernel sets both conditions if the control group has been removed or no trigger was accepted.
        guard carriesBytes, !isBroken else { return (!isBroken, isBroken) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = systemRead(number, &buffer, buffer.count)
        // Bytes beyond the buffer count as another signal. If another process has read the bytes, they don't count as a
        // signal.
        return (count > 0, count == 0 || count < 0 && errno != EAGAIN && errno != EINTR)
    }
}

private func systemPoll(_ polled: inout [pollfd]) -> Int32 {
    poll(&polled, nfds_t(polled.count), -1)
}
#endif
