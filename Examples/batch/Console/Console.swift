#if ServerStack
/// What people and programs see of a run: lines of JSON on standard output, lines or a live display on standard error.
struct Console: Sendable {
    /// What goes to standard error.
    enum Style: Sendable, Hashable {
        /// A display that is drawn over.
        case live
        /// A line for each thing that happens.
        case plain
        case errorsOnly
    }

    let style: Style
    private let writesJSON: Bool
    private let terminal: Terminal
    private var display: LiveDisplay
    private var region = LiveRegion()
    private var lasting: [String] = []
    private var hasHiddenCursor = false

    /// Chooses the style by what was asked for and where standard error leads to.
    init(itemCount: Int, json: Bool, quiet: Bool, hidesProgress: Bool) {
        writesJSON = json
        terminal = .current
        let isLive = terminal.isInteractive && !hidesProgress
        style =
            if quiet {
                .errorsOnly
            } else if json {
                // Both streams may end in one place, where only the JSON is wanted.
                isLive && !Terminal.showsStandardOutput ? .live : .errorsOnly
            } else {
                isLive ? .live : .plain
            }
        display = LiveDisplay(total: itemCount)
    }

    /// Whether ``paint(at:)`` has anything to do.
    var isLive: Bool { style == .live }

    /// Tells what happened.
    mutating func show(_ event: RunEvent) {
        if writesJSON, let line = JSONLine(event) { StandardOutput.write("\(line)\n") }
        if isLive { display.take(event) }
        guard let line = PlainLine(event), line.weight >= leastWeight else { return }
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

    /// Draws the live display as of a time since the beginning.
    mutating func paint(at now: Duration) {
        let size = Terminal.size
        draw(
            display.lines(columns: size.columns, height: size.rows, now: now, usesColor: terminal.usesColor),
            columns: size.columns)
    }

    /// Tells what it has come to, and leaves the terminal as it was.
    mutating func finish(_ tally: Tally) {
        if writesJSON { StandardOutput.write("\(JSONLine(tally))\n") }
        if isLive { draw([], columns: Terminal.size.columns) }
        if hasHiddenCursor { StandardError.write(Terminal.showCursor) }
        hasHiddenCursor = false
        if style != .errorsOnly { StandardError.write("\(tally.summary)\n") }
    }

    private mutating func draw(_ lines: [String], columns: Int) {
        let frame = region.frame(lasting: lasting, lines: lines, columns: columns)
        lasting = []
        guard !frame.isEmpty else { return }
        StandardError.write(hasHiddenCursor ? frame : Terminal.hideCursor + frame)
        hasHiddenCursor = true
    }
}
#endif
