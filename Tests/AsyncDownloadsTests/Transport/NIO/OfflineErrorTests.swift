#if ServerStack
import Foundation
import NIOCore
import TestSupport
import Testing

@testable import AsyncDownloads

/// The evidence of connection errors over SwiftNIO about whether this device is offline.
@Suite(.endsWhenHung)
struct OfflineErrorTests {
    @Test(
        arguments: [
            (ENETUNREACH, true), (ENETDOWN, true), (EHOSTUNREACH, false), (ECONNREFUSED, false), (ECONNRESET, false),
        ] as [(Int32, Bool)])
    func `only a network that can't be reached means that the device is offline`(
        _ number: Int32, _ isOffline: Bool
    ) {
        let error = DownloadError(nio: IOError(errnoCode: number, reason: "connect"), hasHead: false)
        #expect(error.isOffline == isOffline)
        #expect(error.isRetryable)
    }

    @Test(arguments: [(false, DownloadError.Code.cannotConnect), (true, .connectionLost)])
    func `a peer that can't be reached anymore is a lost connection after the head`(
        _ hasHead: Bool, _ code: DownloadError.Code
    ) {
        let error = DownloadError(nio: IOError(errnoCode: EHOSTUNREACH, reason: "read"), hasHead: hasHead)
        #expect(error.code == code)
    }
}
#endif
