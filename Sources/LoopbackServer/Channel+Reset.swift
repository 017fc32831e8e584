#if ServerStack
internal import Foundation
internal import NIOCore

extension Channel {
    /// Closes with RST once the peer has acknowledged every byte sent: a reset throws away what is still queued.
    ///
    /// A peer that has not taken everything after ten seconds is reset all the same.
    func reset() {
        reset(deadline: .now() + .seconds(10))
    }

    private func reset(deadline: NIODeadline) {
        let operations = pipeline.syncOperations
        let queued = try? operations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { socket in
            bytesInSendQueue(of: socket)
        }
        if let queued, queued > 0, NIODeadline.now() < deadline, isActive {
            // Nothing tells when an acknowledgement comes, so it is asked for.
            eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(1)) { self.reset(deadline: deadline) }
            return
        }
        // On the event loop the option is set before this returns.
        _ = (self as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        close(promise: nil)
    }
}
#endif
