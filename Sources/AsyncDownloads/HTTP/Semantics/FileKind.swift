internal import Foundation

/// The kind of a file's contents, according to the extension of its name.
enum FileKind: Sendable, Hashable {
    /// A web page, or a script whose output usually is one.
    case webPage
    /// A kind of file that isn't a web page.
    case otherFile
    /// A file of any kind: the name has no extension, or an unknown one.
    case unknown

    /// Creates the kind of a name; only the part after its last dot counts.
    init(of name: some StringProtocol) {
        let name = Substring(name)
        // Bytes are compared, because a dot and a combining mark after it form one `Character`.
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")) else {
            self = .unknown
            return
        }
        let fileExtension = Substring(name.utf8[dot...].dropFirst()).lowercased()
        self =
            Self.webPages.contains(fileExtension)
            ? .webPage : Self.otherFiles.contains(fileExtension) ? .otherFile : .unknown
    }

    private static let webPages: Set<String> = [
        "html", "htm", "xhtml", "xht", "shtml", "php", "php3", "phtml", "asp", "aspx", "jsp", "jspx", "cgi", "cfm",
        "do",
        "pl",
    ]

    /// The extensions of formats that servers don't mislabel as web pages, unlike plain-text formats.
    private static let otherFiles: Set<String> = [
        // Archives and programs.
        "zip", "gz", "tgz", "bz2", "tbz", "xz", "txz", "zst", "lz4", "br", "7z", "rar", "tar", "jar", "war", "apk",
        "aab",
        "ipa", "deb", "rpm", "dmg", "pkg", "msi", "exe", "iso", "img", "whl", "appimage", "wasm", "crx", "xip",
        // Pictures, sound, films, and fonts.
        "jpg", "jpeg", "png", "gif", "webp", "heic", "heif", "avif", "bmp", "tif", "tiff", "ico", "psd", "dng", "mp3",
        "m4a",
        "m4b", "aac", "ogg", "oga", "opus", "flac", "wav", "aif", "aiff", "mp4", "m4v", "mov", "mkv", "webm", "avi",
        "mpg",
        "mpeg", "ttf", "otf", "woff", "woff2",
        // Documents and data.
        "pdf", "epub", "mobi", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "ods", "odp", "sqlite", "sqlite3",
        "parquet", "npy", "npz", "h5", "hdf5", "usdz", "glb", "pbf", "mbtiles",
        // Models.
        "safetensors", "gguf", "ggml", "onnx", "tflite", "pt", "pth", "ckpt", "mlmodel", "mlmodelc", "mlpackage", "bin",
    ]
}
