internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct ConnectionRefusalTests {
    @Test func `a refusal of more than ever shows the limit of the host`() {
        var fixture = ControllerFixture()
        while fixture.controller.number < 4 { fixture.run(0.001) { count, _ in Double(count) * 10 } }
        #expect(fixture.controller.refused(segmentCount: 3, at: fixture.now) == 3)
        fixture.run(200) { count, _ in Double(count) * 10 }
        #expect(fixture.controller.number == 3, "three of ten were accepted and are kept, since they gain enough")
    }

    @Test func `a refused step leaves the number as it was`() {
        var fixture = ControllerFixture()
        while fixture.controller.number < 4 { fixture.run(0.001) { count, _ in Double(count) * 10 } }
        #expect(fixture.controller.refused(segmentCount: 2, at: fixture.now) == 2)
        #expect(fixture.controller.number == 2 && !fixture.controller.isTrying)
    }

    @Test func `a refusal below what was accepted is waited for, and the second one in a row ends it`() {
        var fixture = ControllerFixture(.fixed(4))
        fixture.run(1) { _, _ in 10 }
        #expect(fixture.controller.refused(segmentCount: 3, at: fixture.now) == nil)
        #expect(fixture.controller.number == 4)
        #expect(!fixture.controller.mayRequest(at: fixture.now + .seconds(29)))
        #expect(fixture.controller.mayRequest(at: fixture.now + .seconds(30)))
        fixture.controller.accepted(segmentCount: 4)
        #expect(fixture.controller.refused(segmentCount: 3, at: fixture.now) == nil)
        #expect(fixture.controller.refused(segmentCount: 3, at: fixture.now) == nil)
        #expect(!fixture.controller.mayRequest(at: fixture.now + .seconds(3600)))
    }

    @Test func `a refusal of the first further connection leaves one`() {
        var fixture = ControllerFixture(.fixed(16))
        #expect(fixture.controller.refused(segmentCount: 1, at: .zero) == 1)
        #expect(fixture.controller.number == 1)
    }

    @Test func `the largest number counts at once, not with the next sample`() {
        var controller = ConnectionController(.fixed(8), at: .zero)
        for count in 2...6 { controller.accepted(segmentCount: count) }
        #expect(controller.refused(segmentCount: 3, at: .zero) == nil)
        #expect(controller.refused(segmentCount: 6, at: .zero) == 6)
    }

    @Test func `a limit that was found beside another file doesn't outlast it`() {
        var fixture = ControllerFixture()
        fixture.runUntilStep()
        #expect(fixture.controller.refused(segmentCount: 1, at: fixture.now) == 1)
        fixture.run(40) { _, _ in 10 }
        #expect(fixture.controller.number == 1)
        fixture.controller.disturbed(by: .departure, at: fixture.now)
        fixture.run(20) { count, _ in Double(count) * 10 }
        #expect(fixture.controller.number == 16)
        _ = fixture.controller.refused(segmentCount: 5, at: fixture.now)
        _ = fixture.controller.refused(segmentCount: 5, at: fixture.now)
        #expect(!fixture.controller.mayRequest(at: fixture.now + .seconds(3600)))
        fixture.controller.disturbed(by: .departure, at: fixture.now)
        #expect(!fixture.controller.mayRequest(at: fixture.now), "the time after a refusal passes nevertheless")
        #expect(fixture.controller.mayRequest(at: fixture.now + .seconds(60)))
    }

    @Test func `the limit of a host is exceeded by one every ten minutes`() {
        var fixture = ControllerFixture(.fixed(4))
        #expect(fixture.controller.refused(segmentCount: 2, at: .zero) == 2)
        fixture.run(599) { _, _ in 10 }
        #expect(fixture.controller.number == 2)
        fixture.run(2) { _, _ in 10 }
        #expect(fixture.controller.number == 3)
        #expect(fixture.controller.refused(segmentCount: 2, at: fixture.now) == nil)
        fixture.run(1300) { _, _ in 10 }
        #expect(fixture.controller.number == 4)
    }
}
