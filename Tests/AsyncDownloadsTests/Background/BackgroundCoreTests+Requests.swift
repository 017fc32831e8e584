internal import Testing

@testable import AsyncDownloads

/// The inputs from handles.
extension BackgroundCoreTests {
    @Test func `asking again joins the task, and another destination is added`() {
        var core = core([])
        #expect(add(1, to: &core).starts.count == 1)
        #expect(add(1, to: &core).starts.isEmpty)
        #expect(core.journal.records.count == 1 && core.journal[1]?.deliveries.count == 1)
        let other = core.add(
            BackgroundResource(url: "https://example.org/1"), to: .init(base: .home, relative: "other"),
            choosesName: false, checksum: nil, maximumByteCount: nil, isPaused: false)
        #expect(other.actions.starts.isEmpty && other.record == 1 && other.delivery == 2)
    }

    @Test func `canceling the last handle keeps the resume data for the next request`() {
        var core = core([])
        _ = add(1, to: &core)
        #expect(core.cancel(1, of: 1, keepingBytes: true).cancels == [core.journal.name(1)])
        _ = core.handle(.failed(core.journal.name(1), .cancelled, resumeData: "1-1.resume"))
        #expect(core.journal[1]?.resumeDataName == "1-1.resume")
        #expect(add(1, to: &core).starts == [core.journal.name(1, attempt: 2)])
        #expect(core.journal[1]?.resumeDataName == "1-1.resume")
    }

    @Test func `discarding removes the record and the files`() {
        var core = core([.resumed])
        let actions = core.cancel(1, of: 1, keepingBytes: false)
        #expect(actions.cancels == [DaemonTaskName(journal: core.journal.token, record: 1, attempt: 1)])
        #expect(actions.removedFiles == ["1-0.resume"])
        #expect(core.journal.isEmpty)
    }

    @Test func `an outcome stays in the journal until it was reported`() {
        var core = core([.running])
        let name = core.journal.name(1)
        _ = core.handle(.finished(name, .sample(name)))
        let path = ContainerPath(base: .home, relative: "files/1")
        let info = BackgroundBodyInfo(byteCount: 10, finalURL: "https://example.org/1")
        _ = core.placed([(1, .placed(path, info))], of: 1)
        #expect(core.journal[1]?.deliveries.first?.outcome == .placed(path, info))
        #expect(add(1, to: &core).starts.isEmpty, "the file is the outcome of the next request")
        #expect(core.acknowledge(1, of: 1).removedFiles.isEmpty)
        #expect(core.journal.isEmpty)
    }

    @Test func `an outcome is needed until each download that it serves has received it, or was canceled`() {
        var core = core([.running])
        let path = ContainerPath(base: .home, relative: "files/1")
        let ids = (0..<3).map { _ in DownloadID() }
        // No handle of an earlier process was restored, so its download has no reader.
        core.journal.update(1) { $0.deliveries[0].add(.init(id: DownloadID(), userInfo: [:])) }
        for id in ids {
            _ = core.add(
                BackgroundResource(url: "https://example.org/1"), to: path, choosesName: false, checksum: nil,
                maximumByteCount: nil, isPaused: false, subscriber: .init(id: id, userInfo: [:]))
        }
        let servesOthers = core.removeRecipient(ids[1], of: 1, in: 1)
        #expect(servesOthers)
        #expect(core.journal[1]?.deliveries.first?.subscribers.map(\.id) == [ids[0], ids[2]])
        let name = core.journal.name(1)
        _ = core.handle(.finished(name, .sample(name)))
        _ = core.placed([(1, .placed(path, BackgroundBodyInfo(byteCount: 10, finalURL: "x")))], of: 1)
        _ = core.acknowledge(1, of: 1, by: ids[2])
        #expect(core.journal[1]?.deliveries.first?.acknowledgedAt == nil)
        #expect(core.journal[1]?.deliveries.first?.subscribers.map(\.id) == [ids[0]])
        _ = core.acknowledge(1, of: 1, by: ids[0])
        #expect(core.journal.isEmpty)
    }

    @Test func `a file that was removed meanwhile is fetched again`() {
        var core = core([.running])
        let name = core.journal.name(1)
        _ = core.handle(.finished(name, .sample(name)))
        let path = ContainerPath(base: .home, relative: "files/1")
        _ = core.placed([(1, .placed(path, BackgroundBodyInfo(byteCount: 10, finalURL: "x")))], of: 1)
        let again = core.add(
            BackgroundResource(url: "https://example.org/1"), to: path, choosesName: false, checksum: nil,
            maximumByteCount: nil, isPaused: false, isInPlace: { _, _ in false })
        #expect(again.actions.starts == [core.journal.name(1, attempt: 2)])
    }

    @Test func `a pause that is resumed before the task has stopped continues from the resume data`() {
        var core = core([.running])
        #expect(core.setPaused(true, 1).cancels.count == 1)
        #expect(core.setPaused(false, 1).starts.isEmpty)
        let actions = core.handle(.failed(core.journal.name(1), .cancelled, resumeData: "1-1.resume"))
        #expect(actions.starts == [core.journal.name(1, attempt: 2)])
        #expect(core.journal[1]?.resumeDataName == "1-1.resume")
    }
}

extension [BackgroundCore.Action] {
    var starts: [DaemonTaskName] { compactMap { if case .start(let name, _) = $0 { name } else { nil } } }
    var startGenerations: [Int] { compactMap { if case .start(_, let generation) = $0 { generation } else { nil } } }
    var cancels: [DaemonTaskName] { compactMap { if case .cancel(let name, _) = $0 { name } else { nil } } }
    var places: [Int] { compactMap { if case .place(let record) = $0 { record } else { nil } } }
    var removedFiles: [String] {
        flatMap { action -> [String] in if case .removeFiles(let names) = action { names } else { [] } }
    }

    var failures: [String] {
        compactMap { if case .end(_, _, .failed(let error)) = $0 { error.code } else { nil } }
    }

    var restarts: [RestartReason] {
        compactMap { if case .emit(_, .restarted(let reason, _)) = $0 { reason } else { nil } }
    }
}
