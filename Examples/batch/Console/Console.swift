internal import AsyncDownloads

/// The output of a run: lines of JSON on standard output, and lines or a live display on standard error.
struct Console: Sendable {
    /// The form of the output on standard error.
    enum Style: Sendable, Hashable {
        /// A display that is redrawn in place.
        case live
        /// A line for each event.
        case plain
        case errorsOnly
    }

    let style: Style
    private let writesJSON: Bool
    private let keepsFiles: Bool
    private let terminal: Terminal
    private var display: LiveDisplay
    private var region = LiveRegion()
    private var lasting: [String] = []
    private var hasHiddenCursor = false

    /// Creates a console whose style follows from the options and from the kind of standard error.
    init(json: Bool, quiet: Bool, hidesProgress: Bool, keepsFiles: Bool) {
        writesJSON = json
        self.keepsFiles = keepsFiles
        terminal = .current
        let isLive = terminal.isInteractive && !hidesProgress
        style =
            if quiet {
                .errorsOnly
            } else if json {
                // Both streams may lead to the same terminal or file, where only the JSON is wanted.
                isLive && !Terminal.showsStandardOutput ? .live : .errorsOnly
            } else {
                isLive ? .live : .plain
            }
        display = LiveDisplay()
    }

    /// Whether the digests of finished files are shown.
    var needsDigests: Bool { writesJSON }

    /// Records the number of files that are known so far, and whether they are all.
    mutating func expect(_ count: Int, isComplete: Bool) {
        display.expect(count, isComplete: isComplete)
    }

    /// Whether the console has a live display, which ``paint(at:)`` draws.
    var isLive: Bool { style == .live }

    /// Writes the lines for an event, and updates the live display.
    mutating func show(_ event: RunEvent) {
        if isLive { display.take(event) }
        // Thousands of downloads may wait for one server.
        if let wait = HostWaits.Wait(event), !display.waits.insert(wait, at: event.time) { return }
        if writesJSON, let line = JSONLine(event, keepsFiles: keepsFiles) { StandardOutput.write("\(line)\n") }
        // A full disk ends the run, and its last line is about that.
        if case .failure(let error) = event.what, error.code == .diskFull { return }
        guard let line = PlainLine(event, atLeast: leastWeight, keepsFiles: keepsFiles) else { return }
        let text = line.text(usesColor: terminal.usesColor)
        if isLive {
            lasting.append(text)
        } else {
            StandardError.write(text + "\n")
        }
    }

    private var leastWeight: PlainLine.Weight {
        switch style {
        case .live: .lasting
        case .plain: .ordinary
        case .errorsOnly: .error
        }
    }

    /// Draws the live display as of `now`, the time since the start of the run.
    mutating func paint(at now: Duration) {
        let size = Terminal.size
        display.measure(at: now)
        draw(
            display.lines(columns: size.columns, height: size.rows, now: now, usesColor: terminal.usesColor),
            columns: size.columns)
    }

    /// Writes the summary, and restores the terminal.
    ///
    /// - Parameters:
    ///   - tally: The results of the run.
    ///   - isSummaryShown: Whether standard error gets a summary as well.
    mutating func finish(_ tally: Tally, isSummaryShown: Bool) {
        if writesJSON { StandardOutput.write("\(JSONLine(tally))\n") }
        if isLive { draw([], columns: Terminal.size.columns) }
        if hasHiddenCursor { StandardError.write(Terminal.showCursor) }
        hasHiddenCursor = false
        if style != .errorsOnly, isSummaryShown { StandardError.write("\(tally.summary(keepsFiles: keepsFiles))\n") }
    }

    private mutating func draw(_ lines: [String], columns: Int) {
        let frame = region.frame(lasting: lasting, lines: lines, columns: columns)
        lasting = []
        guard !frame.isEmpty else { return }
        StandardError.write(hasHiddenCursor ? frame : Terminal.hideCursor + frame)
        hasHiddenCursor = true
    }
}
