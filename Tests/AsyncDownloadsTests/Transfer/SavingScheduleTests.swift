internal import Testing

@testable import AsyncDownloads

@Suite("SavingSchedule", .timeLimit(.minutes(1)))
struct SavingScheduleTests {
    @Test("rule 54: a claim of nothing comes soon, checkpoints by size or by age, one at a time")
    func schedule() {
        var schedule = SavingSchedule()
        #expect(schedule.wrote(128 << 10, at: .zero) == nil)
        #expect(schedule.wrote(128 << 10, at: .zero) == .claim)
        #expect(schedule.wrote(1 << 30, at: .seconds(60)) == nil)
        schedule.isUnderWay = false
        #expect(schedule.wrote(1, at: .seconds(61)) == .checkpoint)
        schedule.isUnderWay = false
        #expect(schedule.wrote(1 << 20, at: .seconds(62)) == nil)
        #expect(schedule.wrote(1, at: .seconds(65)) == nil)
        #expect(schedule.wrote(1, at: .seconds(66)) == .checkpoint)
        schedule.isUnderWay = false
        #expect(schedule.wrote(64 << 20, at: .seconds(67)) == .checkpoint)
    }

    @Test("a checkpoint of an earlier run is never replaced by a claim of nothing")
    func found() {
        var schedule = SavingSchedule()
        schedule.found(at: .seconds(10))
        #expect(schedule.wrote(1 << 20, at: .seconds(11)) == nil)
        #expect(schedule.wrote(1, at: .seconds(15)) == .checkpoint)
    }

    @Test("a checkpoint before a delay is made where it says something new, and is worth anything")
    func beforeDelay() {
        var schedule = SavingSchedule()
        #expect(schedule.begin(resumable: true) == false)
        _ = schedule.wrote(1, at: .zero)
        #expect(schedule.begin(resumable: false) == false)
        #expect(schedule.begin(resumable: true) == true)
        #expect(schedule.begin(resumable: true) == false)
        schedule.isUnderWay = false
        #expect(schedule.begin(resumable: true) == false)
    }

    @Test("a new representation begins the schedule again")
    func reset() {
        var schedule = SavingSchedule()
        #expect(schedule.wrote(1 << 20, at: .zero) == .claim)
        schedule.isUnderWay = false
        schedule.reset()
        #expect(schedule.wrote(1, at: .seconds(60)) == nil)
        #expect(schedule.wrote(1 << 20, at: .seconds(60)) == .claim)
    }
}
