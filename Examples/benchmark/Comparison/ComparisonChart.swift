internal import Foundation

/// A bar chart of ratios as an SVG image, with a line at the ratio of 1.
struct ComparisonChart: Sendable {
    struct Bar: Sendable, Hashable {
        let label: String
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
    private static let (width, rowHeight, left, right) = (1060.0, 28.0, 620.0, 60.0)

    private var height: Double { Double(bars.count) * Self.rowHeight + 60 }

    /// Returns the image.
    func svg(_ palette: Palette) -> String {
        let unit = (Self.width - Self.left - Self.right) / Self.largest
        let one = Self.text(Self.left + unit)
        var lines = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Self.text(Self.width)) \(Self.text(height))" \
            width="\(Self.text(Self.width))" height="\(Self.text(height))" \
            font-family="-apple-system, Helvetica, Arial, sans-serif" font-size="14" role="img">
            """,
            "<title>Wall time of async-downloads divided by that of other programs; shorter is faster</title>",
        ]
        for (number, bar) in bars.enumerated() {
            let top = 20 + Double(number) * Self.rowHeight
            let length = max(1, min(bar.value, Self.largest) * unit)
            let color = bar.value <= 1 ? palette.less : palette.more
            lines += [
                """
                <text x="\(Self.text(Self.left - 10))" y="\(Self.text(top + 15))" text-anchor="end" \
                fill="\(palette.text)">\(Self.escaped(bar.label))</text>
                """,
                """
                <rect x="\(Self.text(Self.left))" y="\(Self.text(top + 2))" width="\(Self.text(length))" height="18" \
                rx="3" fill="\(color)"/>
                """,
                """
                <text x="\(Self.text(Self.width - 6))" y="\(Self.text(top + 15))" text-anchor="end" \
                fill="\(palette.text)">\(String(format: "%.2f", bar.value))</text>
                """,
            ]
        }
        lines += [
            """
            <line x1="\(one)" y1="12" x2="\(one)" y2="\(Self.text(height - 34))" stroke="\(palette.faint)" \
            stroke-dasharray="4 3"/>
            """,
            """
            <text x="\(one)" y="\(Self.text(height - 14))" text-anchor="middle" fill="\(palette.faint)">\
            1.00: equal wall time; shorter bars are faster</text>
            """,
            "</svg>", "",
        ]
        return lines.joined(separator: "\n")
    }

    private static func text(_ number: Double) -> String { String(format: "%.0f", number) }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
