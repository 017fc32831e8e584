internal import AsyncDownloads
internal import TestSupport
internal import Testing

@testable import batch

@Suite(.endsWhenHung) struct LiveDisplayTests {
    private let halfWay = DownloadProgress(
        receivedByteCount: 32 << 20, expectedByteCount: 64 << 20, bytesPerSecond: Double(16 << 20),
        timeRemaining: .seconds(2))

    private func display(_ events: (DownloadEvent, id: Int)..., name: String = "file.bin") throws -> LiveDisplay {
        var display = LiveDisplay()
        display.expect(3, isComplete: true)
        for (event, id) in events { display.take(try .sample(event, id: id, name: name)) }
        return display
    }

    @Test(arguments: [
        (
            100, "file.bin      [===============               ]   50%    32.0 MiB/64.0 MiB   16.0 MiB/s      0:02",
            "16%  0/3 files  1 running  2 waiting  32.0 MiB"
        ),
        (
            80, "file.bin      [======       ]   50%    32.0 MiB/64.0 MiB   16.0 MiB/s      0:02",
            "16%  0/3 files  1 running  2 waiting  32.0 MiB"
        ),
        (
            60, "file.bin      [=======       ]   50%   16.0 MiB/s      0:02",
            "16%  0/3 files  1 running  2 waiting  32.0 MiB"
        ),
        (48, "file.bin       50%   16.0 MiB/s      0:02", "16%  0/3 files  1 running  2 waiting  32.0 MiB"),
        (24, "file.bin       50%", "16%  0/3 files"), (10, "file.bin", "0/3 files"), (4, "f…n", "0/…"), (1, "", ""),
        (0, "", ""),
    ])
    func `a narrow terminal drops the least important columns first`(columns: Int, line: String, total: String) throws {
        let lines = try display((.progress(halfWay), id: 0)).lines(columns: columns, height: 24, now: .seconds(5))
        #expect(lines == [line, total])
    }

    @Test func `names get the width that they need, and are cut in the middle`() throws {
        let name = String(repeating: "a", count: 60) + ".tar.gz"
        for (columns, shown) in [
            (140, name), (100, "\(String(repeating: "a", count: 18))…\(String(repeating: "a", count: 11)).tar.gz"),
        ] {
            let lines = try display((.progress(halfWay), id: 0), name: name)
                .lines(columns: columns, height: 24, now: .zero)
            #expect(lines.first?.hasPrefix(shown + "  [") == true, "\(lines)")
        }
    }

    @Test func `files of one name are shown with their directories`() throws {
        var display = LiveDisplay()
        for (id, name) in ["d/one", "e/one", "e/two"].enumerated() {
            display.take(try .sample(.progress(halfWay), id: id, name: name))
        }
        let lines = display.lines(columns: 80, height: 24, now: .zero)
        #expect(zip(lines, ["d/one ", "e/one ", "two "]).allSatisfy { $0.hasPrefix($1) }, "\(lines)")
    }

    @Test func `the time that is left follows from the rate of the whole run`() throws {
        let started = DownloadEvent.started(
            expectedByteCount: 100, isResumable: true, suggestedName: nil, contentType: nil)
        var display = try display((started, id: 0))
        for second in 0...4 {
            let progress = DownloadProgress(receivedByteCount: Int64(second * 10), expectedByteCount: 100)
            display.take(try .sample(.progress(progress), fetched: Int64(second * 10)))
            display.measure(at: .seconds(second))
        }
        // Two files of unknown length count as one hundred bytes each.
        #expect(display.totalLine(width: 99) == "13%  0/3 files  1 running  2 waiting  40 B  10 B/s  0:26 left")
        display.expect(5, isComplete: false)
        #expect(display.totalLine(width: 99) == "0 of at least 5 files  1 running  4 waiting  40 B  10 B/s")
    }

    @Test(arguments: 0...160)
    func `no line reaches the last column`(columns: Int) throws {
        for name in ["file.bin", String(repeating: "漢", count: 60), String(repeating: "e\u{301}", count: 100)] {
            let display = try display(
                (.progress(halfWay), id: 0), (.paused(receivedByteCount: 1), id: 1),
                (.retrying(attempt: 1, delay: .seconds(60), error: .notFound), id: 2), name: name)
            for line in display.lines(columns: columns, height: 24, now: .zero) {
                #expect(line.columns <= max(0, columns - 1), "\(line)")
            }
        }
    }

    @Test func `a line shows that a download retries, is paused, or is verified`() throws {
        let notFound = DownloadError(.httpStatus, statusCode: 503)
        let display = try display(
            (.retrying(attempt: 1, delay: .seconds(60), error: notFound), id: 0),
            (.paused(receivedByteCount: 2048), id: 1), (.verifying, id: 2),
            (.retrying(attempt: 1, delay: .zero, error: notFound), id: 3))
        #expect(
            display.lines(columns: 80, height: 24, now: .seconds(3)).dropLast() == [
                "file.bin      retrying in 0:59 (httpStatus 503)",
                "file.bin      paused at 2.0 KiB",
                "file.bin      verifying",
                "file.bin      waiting (httpStatus 503)",
            ])
    }

    @Test func `a download of unknown length has no percentage`() throws {
        let progress = DownloadProgress(receivedByteCount: 1 << 20)
        let lines = try display((.progress(progress), id: 0)).lines(columns: 100, height: 24, now: .zero)
        #expect(lines.first == "file.bin      [??????????????????????????????]                    1.0 MiB")
    }

    @Test func `waiting, finished, and failed downloads have no line`() throws {
        var display = try display(
            (.waiting(reason: .turn), id: 0), (.progress(halfWay), id: 1), (.progress(halfWay), id: 2))
        display.take(try .sample(.finished(.sample), id: 1))
        display.take(try .sample(failure: .notFound, id: 2))
        #expect(
            display.lines(columns: 80, height: 24, now: .zero) == [
                "0%  1/3 files  1 failed  0 running  1 waiting  2.0 KiB"
            ])
    }

    @Test func `downloads that do not fit the rows are counted`() throws {
        var display = LiveDisplay()
        display.expect(50, isComplete: true)
        for id in 0..<50 { display.take(try .sample(.progress(halfWay), id: id)) }
        let lines = display.lines(columns: 80, height: 10, now: .zero)
        #expect(lines.count == 9)
        #expect(lines.dropLast().last == "and 43 more")
        #expect(display.lines(columns: 80, height: 2, now: .zero).count == 1)
        #expect(display.lines(columns: 80, height: 0, now: .zero).count == 1)
    }

    @Test func `control characters in a name are replaced`() throws {
        var display = LiveDisplay()
        display.take(try .sample(.progress(halfWay), url: "http://example.org/a%1B%5B2Jb"))
        #expect(display.lines(columns: 80, height: 24, now: .zero).first?.hasPrefix("a_[2Jb ") == true)
    }

    @Test func `color does not change the width of a line`() throws {
        let display = try display((.progress(halfWay), id: 0))
        let colored = display.lines(columns: 100, height: 24, now: .seconds(5), usesColor: true)
        let plain = display.lines(columns: 100, height: 24, now: .seconds(5))
        let stripped = colored.map {
            $0.replacing("\u{1B}[36m", with: "").replacing("\u{1B}[0m", with: "")
        }
        #expect(stripped == plain)
        #expect(colored != plain)
    }
}
