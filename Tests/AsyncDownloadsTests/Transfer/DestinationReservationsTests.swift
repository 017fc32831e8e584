internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("DestinationReservations", .endsWhenHung)
struct DestinationReservationsTests {
    private let first = TransferKey(url: .sample("https://a.example/1"), headers: [:])
    private let second = TransferKey(url: .sample("https://a.example/2"), headers: [:])

    @Test("a path belongs to one resource until its last subscriber has left")
    func named() {
        let reservations = DestinationReservations()
        #expect(reservations.reserve("/d/f", for: first) == nil)
        #expect(reservations.reserve("/d/f", for: first) == nil)
        #expect(reservations.reserve("/d/f", for: second) == first)
        #expect(reservations.reserve("/d/g", for: second) == nil)
        reservations.release("/d/f", for: first, wasClosing: false, hasFile: false)
        #expect(reservations.reserve("/d/f", for: second) == first)
        reservations.release("/d/f", for: first, wasClosing: false, hasFile: false)
        #expect(reservations.reserve("/d/f", for: second) == nil)
        #expect(reservations.reserve("/d/g", for: first) == second)
    }

    @Test("a path that is closing is reserved for one next resource, which waits until it is free")
    func closing() async {
        let reservations = DestinationReservations()
        let third = TransferKey(url: .sample("https://a.example/3"), headers: [:])
        #expect(reservations.reserve("/d/f", for: first) == nil)
        #expect(reservations.reserve("/d/f", for: first) == nil)
        reservations.close("/d/f", for: first)
        #expect(reservations.reserve("/d/f", for: second) == first, "another subscriber still wants its file there")
        reservations.close("/d/f", for: first)
        #expect(reservations.reserve("/d/f", for: second) == nil)
        #expect(reservations.reserve("/d/f", for: second) == nil)
        #expect(reservations.reserve("/d/f", for: third) == second)
        let isFree = Mutex(false)
        let waiting = Task.detached { [second] in
            reservations.waitUntilFree("/d/f", for: second)
            return isFree.withLock { $0 }
        }
        reservations.release("/d/f", for: first, wasClosing: true, hasFile: true)
        isFree.withLock { $0 = true }
        reservations.release("/d/f", for: first, wasClosing: true, hasFile: true)
        #expect(await waiting.value)
        reservations.waitUntilFree("/d/f", for: second)
        reservations.release("/d/f", for: second, wasClosing: false, hasFile: false)
        #expect(reservations.reserve("/d/f", for: third) == second)
        reservations.release("/d/f", for: second, wasClosing: false, hasFile: false)
        #expect(reservations.reserve("/d/f", for: third) == nil)
    }

    @Test("a reservation beside one that is closing keeps the path when that one is released")
    func activeBesideClosing() {
        let reservations = DestinationReservations()
        #expect(reservations.reserve("/d/f", for: first) == nil)
        reservations.close("/d/f", for: first)
        #expect(reservations.reserve("/d/f", for: first) == nil)
        reservations.release("/d/f", for: first, wasClosing: true, hasFile: false)
        #expect(reservations.reserve("/d/f", for: second) == first)
        reservations.release("/d/f", for: first, wasClosing: false, hasFile: false)
        #expect(reservations.reserve("/d/f", for: second) == nil)
    }

    @Test("a next resource that leaves before the path is free leaves no trace")
    func nextLeaves() {
        let reservations = DestinationReservations()
        #expect(reservations.reserve("/d/f", for: first) == nil)
        reservations.close("/d/f", for: first)
        #expect(reservations.reserve("/d/f", for: second) == nil)
        reservations.release("/d/f", for: second, wasClosing: false, hasFile: false)
        let third = TransferKey(url: .sample("https://a.example/3"), headers: [:])
        #expect(reservations.reserve("/d/f", for: third) == nil)
        reservations.release("/d/f", for: first, wasClosing: true, hasFile: true)
        #expect(reservations.reserve("/d/f", for: second) == third)
    }

    @Test(
        "a name that is taken gets a number before its suffix",
        arguments: [
            ("f.txt", "/d/f.txt", "/d/f-1.txt"), ("f", "/d/f", "/d/f-1"), (".hidden", "/d/.hidden", "/d/.hidden-1"),
            ("a.tar.gz", "/d/a.tar.gz", "/d/a.tar-1.gz"),
        ])
    func chosen(_ name: String, _ path: String, _ next: String) {
        let reservations = DestinationReservations()
        #expect(reservations.choose(name, in: "/d", for: first) == path)
        #expect(reservations.choose(name, in: "/d/", for: second) == next)
        #expect(reservations.choose(name, in: "/d", for: first) == path)
    }

    @Test(
        "a name is no longer for its number than file systems take",
        arguments: [
            (String(repeating: "a", count: 255), String(repeating: "a", count: 253) + "-1"),
            (String(repeating: "a", count: 251) + ".txt", String(repeating: "a", count: 249) + "-1.txt"),
            (String(repeating: "日", count: 85), String(repeating: "日", count: 84) + "-1"),
            ("a." + String(repeating: "b", count: 253), "a." + String(repeating: "b", count: 251) + "-1"),
        ])
    func longName(_ name: String, _ next: String) {
        let reservations = DestinationReservations()
        #expect(reservations.choose(name, in: "/d", for: first) == "/d/\(name)")
        #expect(reservations.choose(name, in: "/d", for: second) == "/d/\(next)")
    }

    @Test("no name is chosen of a file that another resource has got, whether chosen or named")
    func afterwards() {
        let reservations = DestinationReservations()
        #expect(reservations.choose("f", in: "/d", for: first) == "/d/f")
        #expect(reservations.reserve("/d/g", for: first) == nil)
        reservations.release("/d/g", for: first, wasClosing: false, hasFile: true)
        #expect(reservations.choose("f", in: "/d", for: second) == "/d/f-1")
        #expect(reservations.choose("g", in: "/d", for: second) == "/d/g-1")
    }

    @Test("a name that another transfer was given by its caller is not chosen")
    func namedAndChosen() {
        let reservations = DestinationReservations()
        #expect(reservations.reserve("/d/f", for: first) == nil)
        #expect(reservations.choose("f", in: "/d", for: second) == "/d/f-1")
        #expect(reservations.choose("f", in: "/d", for: first) == "/d/f")
    }
}
