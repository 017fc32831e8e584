internal import Foundation

/// A bar chart of ratios as an SVG image, with a line at the ratio of 1.
struct ComparisonChart: Sendable {
    struct Bar: Sendable, Hashable {
        /// What was measured; successive bars of the same workload have one heading.
        let workload: String
        /// The program or the value that is the divisor.
        let reference: String
        let value: Double
    }

    /// The colors of an image.
    struct Palette: Sendable {
        fileprivate let text: String
        fileprivate let faint: String
        /// The color of ratios up to 1.
        fileprivate let less: String
        /// The color of ratios above 1.
        fileprivate let more: String

        static let light = Self(text: "#1d1d1f", faint: "#6e6e73", less: "#0071e3", more: "#b64400")
        static let dark = Self(text: "#f5f5f7", faint: "#a1a1a6", less: "#2997ff", more: "#ff9f0a")
    }

    let bars: [Bar]

    /// The ratio at which a bar ends; a longer bar is cut off, and its value says how long it is.
    private static let largest = 2.0
    // At a width of 390 pixels, as on a phone, the text is then 11.6 pixels high.
    private static let (width, fontSize, rowHeight) = (640.0, 19.0, 28.0)
    /// The widths of the column of references and of the column of values.
    private static let (left, right) = (240.0, 60.0)
    private static let barHeight = 18.0

    /// Returns the image.
    func svg(_ palette: Palette) -> String {
        let unit = (Self.width - Self.left - Self.right) / Self.largest
        var lines: [String] = []
        var top = Self.rowHeight
        var workload: String?
        for bar in bars {
            if bar.workload != workload {
                workload = bar.workload
                top += 10
                lines.append(Self.label(bar.workload, x: 6, top: top, color: palette.text))
                top += Self.rowHeight
            }
            let length = max(1, min(bar.value, Self.largest) * unit)
            let color = bar.value <= 1 ? palette.less : palette.more
            lines += [
                Self.label("beside \(bar.reference)", x: 6, top: top, color: palette.faint),
                """
                <rect x="\(Self.text(Self.left))" y="\(Self.text(top + (Self.rowHeight - Self.barHeight) / 2))" \
                width="\(Self.text(length))" height="\(Self.text(Self.barHeight))" rx="3" fill="\(color)"/>
                """,
                Self.label(
                    String(format: "%.2f", bar.value), x: Self.width - 6, top: top, anchor: "end", color: palette.text),
            ]
            top += Self.rowHeight
        }
        let (one, height) = (Self.text(Self.left + unit), Self.text(top + 10))
        let head = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Self.text(Self.width)) \(height)" \
            width="\(Self.text(Self.width))" height="\(height)" \
            font-family="-apple-system, Helvetica, Arial, sans-serif" font-size="\(Self.text(Self.fontSize))" role="img">
            """,
            "<title>Wall time of async-downloads divided by that of other programs; shorter is faster</title>",
            Self.label(
                "1.00: equal wall time; shorter bars are faster", x: Self.width - 6, top: 0, anchor: "end",
                color: palette.faint),
        ]
        // The line is behind the headings that cross it, so it doesn't make them harder to read.
        let line = """
            <line x1="\(one)" y1="\(Self.text(Self.rowHeight))" x2="\(one)" y2="\(height)" stroke="\(palette.faint)" \
            stroke-opacity="0.5" stroke-dasharray="4 3"/>
            """
        return (head + [line] + lines + ["</svg>", ""]).joined(separator: "\n")
    }

    /// Returns a line of text in a row that begins at `top`.
    private static func label(
        _ content: String, x: Double, top: Double, anchor: String = "start", color: String
    ) -> String {
        """
        <text x="\(text(x))" y="\(text(top + rowHeight / 2 + 7))" text-anchor="\(anchor)" fill="\(color)">\
        \(escaped(content))</text>
        """
    }

    private static func text(_ number: Double) -> String { String(format: "%.0f", number) }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
