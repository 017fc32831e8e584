internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct DaemonFailureTests {
    private func reason(
        _ domain: String, _ code: Int, _ cancellation: Int? = nil, underlyingNumber: Int? = nil
    ) -> String {
        let failure = DaemonFailure(
            domain: domain, code: code, underlyingNumber: underlyingNumber, cancellationReason: cancellation,
            resumeData: Data([1]))
        #expect(failure.resumeData == Data([1]), "the resume data is kept with every error")
        if case .transfer(let error) = failure.reason { return error.code.name }
        return "\(failure.reason)"
    }

    @Test(arguments: [
        (0, "userForceQuit"), (1, "backgroundUpdatesDisabled"), (2, "insufficientResources"), (7, "cancelled"),
        (nil, "cancelled"),
    ])
    func `background 12: the reason of a cancellation is read from its number`(number: Int?, expected: String) {
        #expect(reason(NSURLErrorDomain, NSURLErrorCancelled, number) == expected)
    }

    @Test func `errors that are not of URLSession keep their meaning`() {
        #expect(reason(NSPOSIXErrorDomain, Int(ENOSPC)) == "diskFull")
        #expect(reason(NSPOSIXErrorDomain, Int(EDQUOT)) == "diskFull")
        #expect(reason(NSPOSIXErrorDomain, Int(ECONNRESET)) == "connectionLost")
        #expect(reason("another", 1) == "connectionLost")
        #expect(reason(NSURLErrorDomain, NSURLErrorTimedOut) == "timedOut")
        #expect(reason(NSURLErrorDomain, NSURLErrorCannotWriteToFile) == "storageFailure")
    }

    @Test(arguments: [(ENOSPC, "diskFull"), (EDQUOT, "diskFull"), (EACCES, "storageFailure")])
    func `a file that the system cannot write is the fault of a full disk if the cause says so`(
        number: Int32, expected: String
    ) {
        #expect(
            reason(NSURLErrorDomain, NSURLErrorCannotWriteToFile, underlyingNumber: Int(number)) == expected)
        let cause = NSError(domain: NSPOSIXErrorDomain, code: Int(number))
        let between = NSError(domain: "another", code: 1, userInfo: [NSUnderlyingErrorKey: cause])
        let error = NSError(
            domain: NSURLErrorDomain, code: NSURLErrorCannotWriteToFile, userInfo: [NSUnderlyingErrorKey: between])
        #expect(error.underlyingNumber == Int(number))
        #expect(cause.underlyingNumber == nil)
    }

    @Test func `background 13: the resume data of the closure and of the error are the same thing`() {
        var pending = PendingCancellations()
        let (data, other) = (Data([1]), Data([2]))
        // The closure comes first.
        pending.began("a")
        #expect(pending.receive(data, "a") == nil)
        #expect(pending.ended("a", DaemonFailure(.cancelled))?.resumeData == data)
        #expect(pending.ended("a", DaemonFailure(.cancelled))?.resumeData == nil)
        // The end comes first.
        pending.began("b")
        #expect(pending.ended("b", DaemonFailure(.cancelled))?.resumeData == nil)
        #expect(pending.receive(data, "b") == data)
        // Both have the resume data.
        pending.began("c")
        #expect(pending.receive(data, "c") == nil)
        #expect(pending.ended("c", DaemonFailure(.cancelled, resumeData: other))?.resumeData == other)
        // Neither has resume data, or the task has finished.
        pending.began("d")
        #expect(pending.receive(nil, "d") == nil)
        #expect(pending.receive(Data(), "d") == nil)
        #expect(pending.ended("d", nil) == nil)
        #expect(pending.ended(nil, DaemonFailure(.cancelled, resumeData: data))?.resumeData == data)
    }
}
