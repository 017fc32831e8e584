import Foundation

extension TemporaryDirectory {
    /// Returns the sorted names in the directory; with `hiddenOnly`, only the names of files of unfinished downloads.
    func names(hiddenOnly: Bool = false) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.filter { !hiddenOnly || $0.hasPrefix(".") }.sorted()
    }
}
