extension DownloadError: Hashable {
    public static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.detail == right.detail && left.url == right.url
            && left.statusCode == right.statusCode && left.isRetryable == right.isRetryable
            && left.retainedByteCount == right.retainedByteCount
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(detail)
    }
}
