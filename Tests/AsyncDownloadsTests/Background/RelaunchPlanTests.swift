internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct RelaunchPlanTests {
    private let journal = BackgroundJournal.sample([
        .running, .idle(resumeData: nil),
        .received(.init(fileName: "3-1.body", inode: 1, info: .init(byteCount: 1, finalURL: "x"))),
    ])

    private func plan(
        _ tasks: [DaemonTask] = [], generation: Int = 0, events: [DaemonEvent] = [], all: Bool = false
    ) -> RelaunchPlan {
        RelaunchPlan(journal, tasks: tasks.map { (generation, $0) }, events: events, isEverythingDelivered: all)
    }

    @Test func `background 4: a task is matched by its description`() {
        let task = DaemonTask(description: journal.name(1).text, receivedByteCount: 5, expectedByteCount: 9)
        let plan = plan([task], all: true)
        #expect(plan.verdicts[1] == .running(receivedByteCount: 5, expectedByteCount: 9))
        #expect(plan.verdicts[2] == .idle)
        #expect(plan.verdicts[3] == .finishedMeanwhile)
        #expect(plan.stale.isEmpty && plan.foreignCount == 0 && plan.isDecided)
    }

    @Test(arguments: [nil, "", "https://example.org/1", "async-downloads/1/another/1/1"])
    func `background 4: a task without a description of this journal is foreign`(text: String?) {
        let plan = plan([DaemonTask(description: text)], all: true)
        #expect(plan.foreignCount == 1)
        #expect(plan.stale.isEmpty, "a foreign task is left alone")
        #expect(plan.verdicts[1] == .lost)
    }

    @Test func `background 4: a task of a record that this process does not know yet is left alone`() {
        let plan = plan([DaemonTask(description: journal.name(4).text)], all: true)
        #expect(plan.foreignCount == 1 && plan.stale.isEmpty)
    }

    @Test func `background 4: a task of an earlier attempt, an idle record, or a removed record is stale`() {
        var journal = journal
        let removed = journal.add(BackgroundResource(url: "https://example.org/4"))
        journal.remove(removed)
        let names = [journal.name(1, attempt: 2), journal.name(2), journal.name(3), journal.name(removed)]
        let plan = RelaunchPlan(
            journal, tasks: names.map { (0, DaemonTask(description: $0.text)) }, events: [],
            isEverythingDelivered: true)
        #expect(plan.stale.map(\.name) == names)
        #expect(plan.verdicts[1] == .lost && plan.verdicts[2] == .idle && plan.verdicts[3] == .finishedMeanwhile)
    }

    @Test func `background 18: a task in the session of another generation is stale`() {
        let plan = plan([DaemonTask(description: journal.name(1).text)], generation: 1, all: true)
        #expect(plan.stale == [.init(name: journal.name(1), generation: 1)])
        #expect(plan.verdicts[1] == .lost)
    }

    @Test func `background 8: a task that is not listed is lost only when no event can arrive any more`() {
        #expect(plan().verdicts[1] == .undecided)
        #expect(!plan().isDecided)
        #expect(plan(all: true).verdicts[1] == .lost)
        #expect(plan(all: true).records(.lost) == [1])
    }

    @Test(arguments: [false, true])
    func `background 8: a task with an event has ended, whether it is listed or not`(isListed: Bool) {
        let tasks = isListed ? [DaemonTask(description: journal.name(1).text)] : []
        let finished = DaemonEvent.finished(journal.name(1), .sample(journal.name(1)))
        let failed = DaemonEvent.failed(journal.name(1), .cancelled, resumeData: nil)
        #expect(plan(tasks, events: [finished]).verdicts[1] == .finishedMeanwhile)
        #expect(plan(tasks, events: [failed]).verdicts[1] == .failed)
        #expect(plan(tasks, events: [finished, failed], all: true).verdicts[1] == .finishedMeanwhile)
        #expect(plan(tasks, events: [failed, finished], all: true).verdicts[1] == .finishedMeanwhile)
    }

    @Test func `background 8: an event about a download without a task decides nothing`() {
        var journal = journal
        for id in [2, 3] { journal.update(id) { $0.attempt = 1 } }
        let finished = DaemonEvent.finished(journal.name(2), .sample(journal.name(2)))
        let others: [DaemonEvent] = [2, 3].map { .failed(journal.name($0), .cancelled, resumeData: nil) }
        let plan = RelaunchPlan(journal, tasks: [], events: [finished] + others, isEverythingDelivered: true)
        #expect(plan.verdicts == [1: .lost, 2: .idle, 3: .finishedMeanwhile])
    }

    @Test func `background 8: progress, resume data, and the end of a task without a file decide nothing`() {
        let name = journal.name(1)
        let events: [DaemonEvent] = [
            .progressed(name, received: 1, expected: 2), .resumeDataArrived(name, "1-1.resume"), .ended(name),
            .allDelivered(generation: 0),
        ]
        #expect(plan(events: events).verdicts[1] == .undecided)
        let task = DaemonTask(description: name.text, receivedByteCount: 5)
        #expect(
            plan([task], events: events, all: true).verdicts[1]
                == .running(receivedByteCount: 5, expectedByteCount: nil))
    }

    @Test func `background 4: every foreign and every stale task is counted once`() {
        let journal = BackgroundJournal.sample([.running, .running, .running])
        let stale = [journal.name(3, attempt: 2), journal.name(1, attempt: 3)]
        let tasks = [nil, "x", journal.name(2).text, journal.name(9).text] + stale.map(\.text)
        let plan = RelaunchPlan(
            journal, tasks: tasks.map { (0, DaemonTask(description: $0)) }, events: [], isEverythingDelivered: true)
        #expect(plan.foreignCount == 3 && plan.stale.map(\.name) == stale)
        #expect(plan.records(.lost) == [1, 3] && plan.records(.undecided) == [] && plan.isDecided)
        let running = RelaunchPlan.Verdict.running(receivedByteCount: 0, expectedByteCount: nil)
        #expect(plan.records(running) == [2])
    }

    @Test func `background 8: an event of an earlier attempt decides nothing`() {
        let late = journal.name(1, attempt: 2)
        let plan = plan(events: [.failed(late, .cancelled, resumeData: nil), .ended(journal.name(1))], all: true)
        #expect(plan.verdicts[1] == .lost)
    }
}
