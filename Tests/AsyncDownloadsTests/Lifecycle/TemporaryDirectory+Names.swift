import Foundation

extension TemporaryDirectory {
    /// What lies in it; with `hiddenOnly` the traces of unfinished downloads.
    func names(hiddenOnly: Bool = false) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.filter { !hiddenOnly || $0.hasPrefix(".") }.sorted()
    }
}
