internal import Foundation

extension ResumeData {
    /// Reads the required values from the dictionary, and refuses values that can't be used safely.
    init(_ dictionary: ResumeDictionary) throws(DownloadError) {
        downloadURL = try Self.url(dictionary)
        guard let count = dictionary.integer("NSURLSessionResumeBytesReceived"),
            0...FieldScanner.maximumNumber ~= count
        else { throw .unusable("the resume data does not contain a valid number of bytes") }
        receivedByteCount = count
        (temporaryFileName, recordedPath) = try Self.place(dictionary)
        entityTag = Self.fieldValue(dictionary.string("NSURLSessionResumeEntityTag"))
        lastModified = Self.fieldValue(dictionary.string("NSURLSessionResumeServerDownloadDate"))
        byteRange = Self.fieldValue(dictionary.string("NSURLSessionResumeByteRange"))
        version = dictionary.integer("NSURLSessionResumeInfoVersion").flatMap { Int(exactly: $0) }
    }

    /// Returns the contents of `file`, if it is a regular file, up to one byte more than resume data may have.
    static func contents(of file: URL) throws(DownloadError) -> Data {
        do {
            let values = try file.resolvingSymlinksInPath().resourceValues(forKeys: [.isRegularFileKey])
            // Opening a pipe at this path would block the thread.
            guard file.isFileURL, values.isRegularFile == true else {
                throw DownloadError.unusable("the resume data is not in a regular file")
            }
            let handle = try FileHandle(forReadingFrom: file)
            defer { try? handle.close() }
            return try handle.read(upToCount: ResumeDictionary.maximumByteCount + 1) ?? Data()
        } catch let error as DownloadError {
            throw error
        } catch {
            throw .unusable("the file of the resume data cannot be read", underlyingError: error)
        }
    }

    private static func url(_ dictionary: ResumeDictionary) throws(DownloadError) -> URL {
        guard let text = dictionary.string("NSURLSessionDownloadURL"),
            let url = URL(strict: text)
        else { throw .unusable("the resume data does not contain a download URL") }
        guard Origin(url) != nil else { throw .unusable("the download URL is not an http or https URL") }
        guard url.user == nil, url.password == nil else { throw .unusable("the download URL contains credentials") }
        return url
    }

    /// Returns the name of the temporary file, and its path if it is recorded.
    private static func place(_ dictionary: ResumeDictionary) throws(DownloadError) -> (name: String, path: String?) {
        let (nameKey, pathKey) = ("NSURLSessionResumeInfoTempFileName", "NSURLSessionResumeInfoLocalPath")
        var path: String?
        if dictionary.contains(pathKey) {
            guard let text = dictionary.string(pathKey), text.isPlainAbsolutePath else {
                throw .unusable("the path of the temporary file is not a valid absolute path")
            }
            path = text
        }
        guard dictionary.contains(nameKey) || path == nil else {
            return (path.map { URL(fileURLWithPath: $0).lastPathComponent } ?? "", path)
        }
        guard let name = dictionary.string(nameKey), name.isBareFileName else {
            throw .unusable("the resume data does not contain a valid name of a temporary file")
        }
        return (name, path)
    }

    /// Returns `text` if it can be a field value (RFC 9110, 5.5).
    private static func fieldValue(_ text: String?) -> String? {
        guard let text, !text.isEmpty, !text.utf8.contains(where: \.isForbiddenInFieldValue) else { return nil }
        return text
    }
}

extension DownloadError {
    /// Returns an error for unusable resume data or an unusable token, whose `reason` must not reveal any values.
    static func unusable(_ reason: String, underlyingError: (any Error)? = nil) -> Self {
        DownloadError(.resumeDataUnusable, reason, underlyingError: underlyingError)
    }
}
