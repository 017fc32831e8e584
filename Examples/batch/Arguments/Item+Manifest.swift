internal import AsyncDownloads
internal import Foundation

extension Item {
    /// Returns the lines of a manifest that describe the item.
    ///
    /// - Parameter includingSecrets: Whether they contain user names, passwords, and secret headers.
    func manifestLines(includingSecrets: Bool = false) -> String {
        func text(_ address: Address) -> String {
            includingSecrets ? address.url.absoluteString : address.withoutCredentials
        }
        var lines = [text(address)]
        if let output, output.path != output.path.trimmingWhitespace() {
            // In an indented line, spaces at the ends don't belong to the path.
            var object = JSONLine()
            object.add("url", text(address))
            object.add("out", output.path)
            lines = [object.description]
        } else if let output {
            lines.append("  out=\(output.path)")
        } else {
            if let numberedName { lines.append("  name=\(numberedName)") }
            if !subdirectory.isEmpty, numberedName != nil || !isSubdirectoryFromURL {
                lines.append("  dir=\(subdirectory)")
            }
        }
        if let checksum { lines.append("  checksum=\(checksum.algorithm.rawValue)=\(checksum.hex)") }
        if let byteCount { lines.append("  size=\(byteCount)") }
        if includingSecrets { lines += headers.map { "  header=\($0.name): \($0.value)" } }
        lines += publicHeaders.map { "  public-header=\($0.name): \($0.value)" }
        lines += mirrors.map { "  mirror=\(text($0))" }
        return lines.map { $0 + "\n" }.joined()
    }
}
