internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Files that earlier versions of the package have written, byte for byte.
///
/// They are never changed: a version that can't read one of them loses the downloads of an app that was updated.
@Suite(.endsWhenHung)
struct StoredJournalTests {
    /// A journal of format 1, before outcomes had an acknowledgment, with every stage and every field.
    private static let journal = #"""
        async-downloads-journal 1 f27bbb29
        {"generations":[{"number":0,"options":{"abandonedBytesLifetime":[140512,11096714923483332608],\#
        "allowsCellularAccess":true,"allowsConstrainedNetworkAccess":true,"allowsExpensiveNetworkAccess":true,\#
        "finalURLPolicy":"secure","forceQuitPolicy":"pause","isDiscretionary":false,"maximumTaskCount":200,\#
        "resourceTimeout":[32786,5048799358640717824],"sendsLaunchEvents":true}},{"number":1,"options":{\#
        "abandonedBytesLifetime":[140512,11096714923483332608],"allowsCellularAccess":false,\#
        "allowsConstrainedNetworkAccess":true,"allowsExpensiveNetworkAccess":true,"finalURLPolicy":"secure",\#
        "forceQuitPolicy":"pause","isDiscretionary":false,"maximumTaskCount":200,"resourceTimeout":[32786,\#
        5048799358640717824],"sendsLaunchEvents":true,"sharedContainerIdentifier":"group.one"}}],"identifier":"session",\#
        "lastNumber":8,"records":[{"attempt":0,"deliveries":[{"choosesName":false,"destination":"home:files/1","id":1}],\#
        "freshStartCount":0,"generation":0,"id":1,"isPaused":false,"receivedByteCount":0,"resource":{"headers":[],\#
        "maximumRetryCount":0,"priorityRank":0,"url":"https://example.org/1"},"retryCount":0,"stage":{"idle":{}}},{\#
        "attempt":1,"deliveries":[{"choosesName":false,"destination":"home:files/2","id":1}],"freshStartCount":0,\#
        "generation":0,"id":2,"isPaused":false,"receivedByteCount":0,"resource":{"headers":[],"maximumRetryCount":0,\#
        "priorityRank":0,"url":"https://example.org/2"},"retryCount":0,"stage":{"idle":{"resumeData":"2-1.resume"}}},{\#
        "attempt":1,"deliveries":[{"choosesName":false,"destination":"home:files/3","id":1}],"freshStartCount":0,\#
        "generation":0,"id":3,"isPaused":false,"receivedByteCount":0,"resource":{"headers":[],"maximumRetryCount":0,\#
        "priorityRank":0,"url":"https://example.org/3"},"retryCount":0,"stage":{"handedOver":{"_0":{\#
        "isConfirmed":true}}}},{"attempt":1,"deliveries":[{"choosesName":false,"destination":"home:files/4","id":1}],\#
        "freshStartCount":0,"generation":0,"id":4,"isPaused":false,"receivedByteCount":0,"resource":{"headers":[],\#
        "maximumRetryCount":0,"priorityRank":0,"url":"https://example.org/4"},"retryCount":0,"stage":{"handedOver":{\#
        "_0":{"isConfirmed":false,"resumeData":"4-1.resume","url":"https://example.org/4"}}}},{"abandonedAt":13,\#
        "attempt":0,"base":{"byteCount":3,"entityTag":"\"a\"","fileName":"5-0.base","length":33},"deliveries":[{\#
        "checksum":"sha-256=00","choosesName":true,"chosenPath":"group:group.one:d/five",\#
        "destination":"group:group.one:d","id":1,"maximumByteCount":100}],"freshStartCount":1,\#
        "freshURL":"https://example.org/fresh","generation":0,"id":5,"isPaused":true,"notBefore":12,\#
        "receivedByteCount":0,"resource":{"account":"me","earliestBegin":9,"expectedByteCount":33,"headers":[["Accept",\#
        "*/*"]],"identity":"id","maximumRetryCount":5,"priorityRank":-1,"url":"https://example.org/5"},\#
        "resumeURL":"https://example.org/resume","retryCount":0,"stage":{"received":{"_0":{"fileName":"5-1.body",\#
        "info":{"byteCount":33,"contentType":"text/plain","entityTag":"\"a\"","finalURL":"https://example.org/5",\#
        "lastModified":"Thu, 01 Jan 1970 00:00:00 GMT","serverDigest":"sha-256=00","suggestedName":"five"},"inode":7,\#
        "isFragment":true,"modificationTime":5,"wasResumed":true}}}},{"attempt":1,"deliveries":[{"choosesName":false,\#
        "destination":"home:files/6","id":1,"outcome":{"placed":{"_0":"home:files/6","_1":{"byteCount":33,\#
        "contentType":"text/plain","entityTag":"\"a\"","finalURL":"https://example.org/5","lastModified":"Thu,\#
         01 Jan 1970 00:00:00 GMT","serverDigest":"sha-256=00","suggestedName":"five"}}}}],"freshStartCount":0,\#
        "generation":0,"id":6,"isPaused":false,"receivedByteCount":0,"resource":{"account":"me","headers":[["Accept",\#
        "*/*"]],"identity":"id","maximumRetryCount":0,"priorityRank":0,"url":"https://example.org/6"},"retryCount":0,\#
        "stage":{"idle":{}}},{"attempt":0,"deliveries":[{"choosesName":false,"destination":"root:files/7","id":2,\#
        "outcome":{"failed":{"_0":{"code":"httpStatus","detail":"x","isRetryable":false,"statusCode":404}}}}],\#
        "freshStartCount":0,"generation":1,"id":7,"isPaused":false,"receivedByteCount":44,"resource":{"account":"me",\#
        "headers":[["Accept","*/*"]],"identity":"id","maximumRetryCount":0,"priorityRank":0,\#
        "url":"https://example.org/7"},"retryCount":3,"stage":{"idle":{}}},{"attempt":0,"deliveries":[],\#
        "freshStartCount":0,"generation":0,"id":8,"isPaused":false,"receivedByteCount":0,"resource":{"account":"me",\#
        "headers":[["Accept","*/*"]],"identity":"id","maximumRetryCount":0,"priorityRank":0,\#
        "url":"https://example.org/8"},"retryCount":0,"stage":{"idle":{}}}],"token":"0123456789abcdef"}
        """#

    private static func read(_ text: String) throws -> BackgroundJournal {
        let disk = SimulatedFileSystem()
        try disk.replaceContents(of: "/journal", by: Array(text.utf8), isSynced: true)
        return try #require(try JournalFile(disk: disk, path: "/journal").journal())
    }

    @Test func `background 15: a journal of an earlier version is read as it was written`() throws {
        let journal = try Self.read(Self.journal)
        #expect(journal.identifier == "session" && journal.token == "0123456789abcdef" && journal.lastNumber == 8)
        #expect(journal.generations.map(\.number) == [0, 1])
        #expect(journal.generations[0].options == BackgroundOptions())
        #expect(journal.current.options.sharedContainerIdentifier == "group.one")
        #expect(journal.records.map(\.id) == Array(1...8))
        #expect(journal[1]?.stage == .idle(resumeData: nil) && journal[2]?.stage == .idle(resumeData: "2-1.resume"))
        #expect(journal[3]?.stage == .handedOver(.init(resumeData: nil, isConfirmed: true)))
        #expect(
            journal[4]?.stage
                == .handedOver(.init(resumeData: "4-1.resume", isConfirmed: false, url: "https://example.org/4")))
        let received = try #require(journal[5])
        var info = BackgroundBodyInfo(byteCount: 33, finalURL: "https://example.org/5")
        (info.contentType, info.entityTag, info.lastModified) =
            ("text/plain", "\"a\"", "Thu, 01 Jan 1970 00:00:00 GMT")
        (info.suggestedName, info.serverDigest) = ("five", "sha-256=00")
        var body = ReceivedBody(fileName: "5-1.body", inode: 7, info: info, wasResumed: true)
        (body.modificationTime, body.isFragment) = (5, true)
        #expect(received.stage == .received(body))
        #expect(
            received.base == BackgroundBase(fileName: "5-0.base", byteCount: 3, entityTag: "\"a\"", length: 33))
        #expect(received.resource.priorityRank == -1 && received.resource.maximumRetryCount == 5)
        #expect(received.resource.expectedByteCount == 33 && received.resource.earliestBegin == 9)
        #expect(received.resource.headers == [["Accept", "*/*"]] && received.resource.account == "me")
        #expect(received.isPaused && received.freshStartCount == 1 && received.notBefore == 12)
        #expect(received.freshURL == "https://example.org/fresh" && received.resumeURL == "https://example.org/resume")
        #expect(received.abandonedAt == 13)
        var delivery = BackgroundDelivery(
            id: 1, destination: .init(base: .group("group.one"), relative: "d"), choosesName: true,
            checksum: "sha-256=00", maximumByteCount: 100)
        delivery.chosenPath = .init(base: .group("group.one"), relative: "d/five")
        #expect(received.deliveries == [delivery])
        #expect(journal[6]?.deliveries[0].outcome == .placed(.init(base: .home, relative: "files/6"), info))
        #expect(journal[6]?.isPending == true, "the app may not have received it")
        #expect(
            journal[7]?.deliveries[0].outcome
                == .failed(RecordedError(DownloadError(.httpStatus, "x", statusCode: 404))))
        #expect(journal[7]?.retries.retriesUsed == 3 && journal[7]?.receivedByteCount == 44)
        #expect(journal[7]?.lastDelivery == 2 && journal[7]?.generation == 1)
        #expect(journal[8]?.deliveries == [])
        // This version writes what it has read.
        let bytes = try CheckedDocument.encode(journal, kind: "journal", version: 1)
        #expect(try Self.read(String(decoding: bytes, as: UTF8.self)) == journal)
    }

    @Test func `background 15: a journal without the fields that have a default is read`() throws {
        let body = """
            {"identifier":"session","token":"00","generations":[{"number":0}],"records":[{"id":4,\
            "resource":{"url":"https://example.org/4"},"stage":{"handedOver":{"_0":{}}},\
            "deliveries":[{"id":3,"destination":"home:a","outcome":{"failed":{"_0":{"code":"timedOut"}}}}]}]}
            """
        let text = "async-downloads-journal 1 \(CRC32.digits(of: Array(body.utf8)))\n\(body)"
        let journal = try Self.read(text)
        #expect(journal.current.options == BackgroundOptions() && journal.lastNumber == 4)
        let record = try #require(journal[4])
        #expect(record.stage == .handedOver(.init()) && record.attempt == 0 && !record.isPaused)
        #expect(record.resource == BackgroundResource(url: "https://example.org/4") && record.lastDelivery == 3)
        #expect(record.deliveries[0].outcome == .failed(RecordedError(DownloadError(.timedOut, isRetryable: false))))
    }

    @Test(arguments: [#"{"identifier":"a","token":"00","generations":[]}"#, #"{"identifier":"a","token":"00"}"#])
    func `background 15: a journal without a generation is damaged`(body: String) {
        let text = "async-downloads-journal 1 \(CRC32.digits(of: Array(body.utf8)))\n\(body)"
        #expect(throws: DownloadError.self) { try Self.read(text) }
    }

    @Test func `background 6: the head of a response and a failure in the spool are read as they were written`() throws
    {
        let disk = SimulatedFileSystem()
        let spool = Spool(disk: disk, directory: "/")
        let files = [
            "/1-1.head": #"""
            async-downloads-head 1 bae7a6bc
            {"fields":[["ETag","\"a\""],["Content-Range","bytes 1-2/3"]],"status":206,"url":"https://example.org/1"}
            """#,
            "/1-1.body": "ab",
            "/1-2.failure": #"""
            async-downloads-failure 1 90fdabe6
            {"error":{"code":"timedOut","detail":"y","isRetryable":true},"kind":"transfer"}
            """#,
            "/1-3.failure": #"""
            async-downloads-failure 1 580656a9
            {"kind":"userForceQuit"}
            """#,
        ]
        for (path, text) in files { try disk.replaceContents(of: path, by: Array(text.utf8), isSynced: true) }
        let journal = BackgroundJournal.sample([.running])
        let body = try #require(spool.body(journal.name(1)))
        #expect(body.byteCount == 2)
        #expect(
            body.head
                == DaemonResponseHead(
                    status: 206, headers: ["ETag": "\"a\"", "Content-Range": "bytes 1-2/3"],
                    url: "https://example.org/1"))
        guard case .failed(_, .transfer(let error), nil)? = spool.failure(journal.name(1, attempt: 2)) else {
            Issue.record("the failure must be read")
            return
        }
        #expect(error.code == .timedOut && error.detail == "y" && error.isRetryable)
        guard case .failed(_, .userForceQuit, nil)? = spool.failure(journal.name(1, attempt: 3)) else {
            Issue.record("the failure must be read")
            return
        }
    }
}
