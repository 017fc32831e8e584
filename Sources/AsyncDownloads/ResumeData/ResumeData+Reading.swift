internal import Foundation

extension ResumeData {
    /// Takes what is needed out of the dictionary, and refuses what could not be used safely.
    init(_ dictionary: ResumeDictionary) throws(DownloadError) {
        downloadURL = try Self.url(dictionary)
        guard let count = dictionary.integer("NSURLSessionResumeBytesReceived"),
            0...FieldScanner.maximumNumber ~= count
        else { throw .unusable("it has no number of bytes that can be right") }
        receivedByteCount = count
        (temporaryFileName, recordedPath) = try Self.place(dictionary)
        entityTag = Self.fieldValue(dictionary.string("NSURLSessionResumeEntityTag"))
        lastModified = Self.fieldValue(dictionary.string("NSURLSessionResumeServerDownloadDate"))
        byteRange = Self.fieldValue(dictionary.string("NSURLSessionResumeByteRange"))
        version = dictionary.integer("NSURLSessionResumeInfoVersion").flatMap { Int(exactly: $0) }
    }

    /// The file's bytes, as long as it is a file and not too long to be resume data.
    static func contents(of file: URL) throws(DownloadError) -> Data {
        do {
            let values = try file.resolvingSymlinksInPath().resourceValues(forKeys: [.isRegularFileKey])
            // A pipe at that name would hold up the thread.
            guard file.isFileURL, values.isRegularFile == true else { throw DownloadError.unusable("it is no file") }
            let handle = try FileHandle(forReadingFrom: file)
            defer { try? handle.close() }
            return try handle.read(upToCount: ResumeDictionary.maximumByteCount + 1) ?? Data()
        } catch let error as DownloadError {
            throw error
        } catch {
            throw .unusable("its file cannot be read", underlyingError: error)
        }
    }

    private static func url(_ dictionary: ResumeDictionary) throws(DownloadError) -> URL {
        guard let text = dictionary.string("NSURLSessionDownloadURL"),
            let url = URL(strict: text)
        else { throw .unusable("it has no download URL") }
        guard Origin(url) != nil else { throw .unusable("its download URL is none of http or https") }
        guard url.user == nil, url.password == nil else { throw .unusable("its download URL contains credentials") }
        return url
    }

    /// The temporary file's name, and its path where that is known.
    private static func place(_ dictionary: ResumeDictionary) throws(DownloadError) -> (name: String, path: String?) {
        let (nameKey, pathKey) = ("NSURLSessionResumeInfoTempFileName", "NSURLSessionResumeInfoLocalPath")
        var path: String?
        if dictionary.contains(pathKey) {
            guard let text = dictionary.string(pathKey), text.isPlainAbsolutePath else {
                throw .unusable("the path of its temporary file is none")
            }
            path = text
        }
        guard dictionary.contains(nameKey) || path == nil else {
            return (path.map(PartialNames.lastComponent) ?? "", path)
        }
        guard let name = dictionary.string(nameKey), name.isBareFileName else {
            throw .unusable("it has no bare name of a temporary file")
        }
        return (name, path)
    }

    /// A text that may have been the value of a field, and may be one again (RFC 9110, 5.5).
    private static func fieldValue(_ text: String?) -> String? {
        guard let text, !text.isEmpty, !text.utf8.contains(where: \.isForbiddenInFieldValue) else { return nil }
        return text
    }
}

extension DownloadError {
    /// What is wrong with resume data, or with a token, in words that reveal nothing of what it says.
    static func unusable(_ reason: String, underlyingError: (any Error)? = nil) -> Self {
        DownloadError(.resumeDataUnusable, reason, underlyingError: underlyingError)
    }
}
