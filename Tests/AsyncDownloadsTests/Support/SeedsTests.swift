import TestSupport
import Testing

@Suite(.endsWhenHung)
struct SeedsTests {
    @Test(arguments: [(nil, 1), ("20", 20), ("0", 1), ("-1", 1), ("many", 1)] as [(String?, Int)])
    func `the environment multiplies the number of seeds`(_ value: String?, _ factor: Int) {
        #expect(Seeds.factor(in: value.map { ["ASYNC_DOWNLOADS_SEED_FACTOR": $0] } ?? [:]) == factor)
    }

    @Test func `groups contain each seed once`() {
        let groups = Seeds.first(10, inGroupsOf: 4)
        #expect(groups.prefix(2) == [0..<4, 4..<8])
        #expect(groups.flatMap { $0 } == Array(Seeds.first(10)))
    }
}
