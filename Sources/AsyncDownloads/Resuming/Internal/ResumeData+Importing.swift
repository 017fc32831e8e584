internal import Foundation

extension ResumeData {
    /// The temporary file, checked and open, with the properties of its bytes.
    func importedFile(
        in directory: URL?, responseDate: HTTPDate?, on disk: any FileSystem
    ) throws(DownloadError) -> ImportedFile {
        let file = try openTemporaryFile(in: directory, on: disk)
        return ImportedFile(
            path: file.path, handle: file.handle, information: file.information,
            representation: representation(responseDate: responseDate), received: received,
            hasSecretHeaders: false, isTemporary: PartialNames.lastComponent(of: file.path).isTemporaryFileName)
    }

    /// Returns the directory in which the system keeps the unfinished files of background sessions, if it has the file.
    static func directoryOfBackgroundFile(_ name: String) -> URL? {
        guard let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first,
            let bundle = Bundle.main.bundleIdentifier
        else { return nil }
        let directory = caches.appending(path: "com.apple.nsurlsessiond/Downloads/\(bundle)")
        return FileManager.default.fileExists(atPath: directory.appending(path: name).path) ? directory : nil
    }
}

extension String {
    /// Whether the name has the form that URLSession gives to its temporary files.
    fileprivate var isTemporaryFileName: Bool { hasPrefix("CFNetworkDownload_") && hasSuffix(".tmp") }
}
