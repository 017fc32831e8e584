internal import LoopbackServer

extension ContractCase {
    /// The exit statuses, and the errors of servers.
    static let endings = [
        ContractCase("a failure is shown without the URL's query", "SERVER/missing?s3cret SERVER/one -q").with {
            $0.status = 1
            $0.error = ["failed    httpStatus (404)", "[SERVER/missing]"]
            $0.results = ["one": "one"]
        },
        ContractCase("a passing failure", "DEAD/x SERVER/one --retries 0").with {
            $0.status = 75
            $0.error = [
                "failed    cannotConnect", "1 file failed for a reason that may pass; run the same command again",
            ]
            $0.results = ["one": "one"]
        },
        ContractCase("a passing failure beside a permanent one", "DEAD/x SERVER/missing --retries 0 --json").with {
            $0.status = 75
            $0.output = ["\"code\":\"httpStatus\",\"status\":404,\"retryable\":false,\"kept\":0", "\"retryable\":true"]
        },
        ContractCase("a deadline may pass later", "DEAD/x --deadline 0.3 --retries 99 --json").with {
            $0.status = 75
            $0.output = ["\"code\":\"deadlineExceeded\",\"status\":null,\"retryable\":true"]
        },
        ContractCase("a lost connection is continued", "SERVER/one").with {
            $0.scripts["one"] = [[.cut(after: 10_000)]]
            $0.error = ["retrying  one in ", "resumed   one at byte 10000\n", "finished  one"]
            $0.results = ["one": "one"]
        },
        ContractCase("a destination that cannot be written", "SERVER/one -d file").with {
            $0.files["file"] = "text"
            $0.status = 1
            $0.error = ["failed    "]
        },
    ]
}
