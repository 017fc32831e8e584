internal import Foundation
internal import NIOCore

extension Channel {
    /// Closes the connection with RST once the peer has acknowledged every byte, because a reset discards queued bytes.
    func reset() {
        let operations = pipeline.syncOperations
        let queued = try? operations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { socket in
            bytesInSendQueue(of: socket)
        }
        if let queued, queued > 0, isActive {
            // The system does not report acknowledgments, so the send queue is polled.
            eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(1)) { self.reset() }
            return
        }
        // This runs on the event loop, where the option is set synchronously, so the future need not be awaited.
        _ = (self as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        close(promise: nil)
    }
}
