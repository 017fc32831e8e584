internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct DeliveryStateTests {
    @Test func `closing paths are released after a round, except one that is still needed`() {
        var delivery = DeliveryState()
        delivery.hold("/a", isClosing: true)
        delivery.hold("/b", isClosing: false)
        delivery.hold("/c", isClosing: true)
        #expect(delivery.takeClosing(except: "/c") == ["/a"])
        #expect(delivery.holds("/b"))
        #expect(delivery.holds("/c"))
        #expect(!delivery.holds("/a"))
        #expect(delivery.takeClosing(except: nil) == ["/c"])
        #expect(delivery.takeHeld().map(\.path) == ["/b"])
        #expect(delivery.takeHeld().isEmpty)
    }

    @Test func `paths of equivalent characters are different paths`() {
        var delivery = DeliveryState()
        delivery.hold("/\u{E9}", isClosing: true)
        #expect(!delivery.holds("/e\u{301}"))
        #expect(delivery.takeClosing(except: "/e\u{301}") == ["/\u{E9}"])
    }
}
