internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The schedule of checkpoints.
@Suite(.endsWhenHung)
struct CheckpointScheduleTests {
    @Test
    func `rule 54: the first checkpoint is due soon, later ones by size or age, one at a time`() {
        var schedule = CheckpointSchedule()
        #expect(schedule.wrote(1 << 19, at: .zero) == false)
        #expect(schedule.wrote(1 << 19, at: .zero) == true)
        #expect(schedule.wrote(1 << 30, at: .seconds(60)) == false)
        schedule.saved()
        #expect(schedule.wrote(1, at: .seconds(61)) == true)
        schedule.saved()
        #expect(schedule.wrote(1 << 20, at: .seconds(62)) == false)
        #expect(schedule.wrote(1, at: .seconds(65)) == false)
        #expect(schedule.wrote(1, at: .seconds(66)) == true)
        schedule.saved()
        #expect(schedule.wrote(64 << 20, at: .seconds(67)) == true)
    }

    @Test
    func `rule 54: the first checkpoint of a slow download is due after five seconds`() {
        var schedule = CheckpointSchedule()
        #expect(schedule.wrote(1000, at: .seconds(10)) == false)
        #expect(schedule.wrote(1000, at: .seconds(14)) == false)
        #expect(schedule.wrote(1000, at: .seconds(15)) == true)
        schedule.saved()
        #expect(schedule.wrote(1000, at: .seconds(19)) == false)
        #expect(schedule.wrote(1000, at: .seconds(20)) == true)
        schedule.saved()
        schedule.reset()
        #expect(schedule.wrote(1000, at: .seconds(60)) == false)
        #expect(schedule.wrote(1000, at: .seconds(65)) == true)
    }

    @Test
    func `a checkpoint of an earlier run makes the next one less urgent`() {
        var schedule = CheckpointSchedule()
        schedule.found(at: .seconds(10))
        #expect(schedule.wrote(1 << 20, at: .seconds(11)) == false)
        #expect(schedule.wrote(1, at: .seconds(15)) == true)
    }

    @Test
    func `a new representation restarts the schedule`() {
        var schedule = CheckpointSchedule()
        #expect(schedule.wrote(1 << 20, at: .zero) == true)
        schedule.saved()
        schedule.reset()
        #expect(schedule.wrote(1, at: .seconds(60)) == false)
        #expect(schedule.wrote(1 << 20, at: .seconds(60)) == true)
    }
}
