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
}

extension String {
    /// Whether the name has the form that URLSession gives to its temporary files.
    fileprivate var isTemporaryFileName: Bool { hasPrefix("CFNetworkDownload_") && hasSuffix(".tmp") }
}
