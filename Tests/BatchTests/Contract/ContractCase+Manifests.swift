internal import LoopbackServer

extension ContractCase {
    /// Manifests in each form.
    static let manifests = [
        ContractCase("a manifest in the form of aria2", "-i list -d files --header X-All:1").with {
            $0.files["list"] = """
                # Three files.
                SERVER/one
                  out=a/renamed
                  checksum=sha-256=SHA:one
                  header=X-Own: 2
                SERVER/two
                \tdir=deep/er
                SERVER/x/one
                """
            $0.results = ["files/a/renamed": "one", "files/deep/er/two": "two", "files/one": "x/one"]
            $0.requests = ["one": ["X-Own": "2", "X-All": "1"], "two": ["X-Own": nil, "X-All": "1"]]
        },
        ContractCase("a manifest of JSON Lines on standard input", "-i - -d files").with {
            $0.input = """
                {"url":"SERVER/one","out":"a/b","sha256":"SHA:one","headers":{"X-Own":"2"},"size":40000}
                {"url":"DEAD/x","mirrors":["SERVER/missing","SERVER/two"],"out":"c"}
                """
            $0.results = ["files/a/b": "one", "files/c": "two"]
            $0.requests = ["one": ["X-Own": "2"]]
        },
        ContractCase("several manifests", "-i a --input b -d files").with {
            $0.files = ["a": "SERVER/one\n", "b": "SERVER/two\n"]
            $0.results = ["files/one": "one", "files/two": "two"]
        },
        ContractCase("a mistake in a second manifest", "-i a -i b -d files").with {
            $0.files = ["a": "SERVER/one\n", "b": "SERVER/two\n  bad=1\n"]
            $0.status = 64
            $0.error = ["Error: b:2: this option is not supported"]
        },
        ContractCase("a mistake after the lines that are read ahead", "-i list -d files").with {
            $0.files["list"] =
                String(repeating: "SERVER/one\n", count: 1001) + "SERVER/two\nSERVER/x/one\n  out=x\n  bad=1\n"
            $0.status = 64
            $0.error = ["Error: list:1005: this option is not supported"]
            $0.results = ["files/one": "one", "files/two": "two"]
        },
        ContractCase("a list of digests is a manifest", "--checksums SUMS --base SERVER -d files").with {
            $0.files["SUMS"] = "SHA:one  one\nSHA:sub/three *./sub/three\nSHA256 (two) = SHA:two\n"
            $0.results = ["files/one": "one", "files/sub/three": "sub/three", "files/two": "two"]
        },
        ContractCase("a wrong digest is a permanent failure", "--checksums SUMS --base SERVER/ -d files").with {
            $0.files["SUMS"] = "SHA:one  one\nSHA:one  two\n"
            $0.status = 1
            $0.error = ["failed    checksumMismatch", "[SERVER/two]"]
            $0.results = ["files/one": "one"]
        },
        ContractCase("relative lines and their directories", "-i list --base SERVER -d files --directories").with {
            $0.files["list"] = "sub/three\nx/one\n"
            $0.results = ["files/sub/three": "sub/three", "files/x/one": "x/one"]
        },
        ContractCase("mirrors after tabs and as options", "-i list --json").with {
            $0.files["list"] = "DEAD/one?s3cret\tSERVER/one\nSERVER/missing\n  mirror=SERVER/two\n  out=two\n"
            $0.results = ["one": "one", "two": "two"]
            $0.output = [
                "\"error\":\"cannotConnect\"", "\"error\":\"httpStatus\"", "\"url\":\"SERVER/one\"",
                "\"finished\":2,\"failed\":0",
            ]
        },
        ContractCase("a mirror continues with the bytes of the first server", "-i list --json").with {
            $0.files["list"] = "SERVER/one\tHOST/copy\n"
            $0.scripts["one"] = [[.cut(after: 30_000)], [.status(404)]]
            $0.output = ["\"bytes\":40000", "\"event\":\"resumed\",\"id\":0,\"offset\":30000", "\"fetched\":40000"]
            $0.results = ["one": "one"]
        },
        ContractCase("a mirror is used instead of a server that asks to wait", "-i list --json").with {
            $0.files["list"] = "SERVER/one\tHOST/copy\n"
            $0.scripts["one"] = [[.retryAfter("600", status: 429)]]
            $0.output = ["\"event\":\"retrying\"", "\"finished\":1,\"failed\":0"]
            $0.results = ["one": "one"]
        },
        ContractCase("a mirror of another origin gets no secret headers", "-i list --header X-Secret:s3cret").with {
            $0.files["list"] = "DEAD/one\tSERVER/one\n  header=X-Own: s3cret\n  public-header=X-Public: 1\n"
            $0.requests = ["one": ["X-Secret": nil, "X-Own": nil, "X-Public": "1"]]
            $0.results = ["one": "one"]
        },
        ContractCase("names are numbered in the order of the lines", "-i list").with {
            $0.files["list"] = "SERVER/one\nSERVER/x/one\nSERVER/one\n"
            $0.results = ["one": "one", "one-2": "x/one"]
            $0.error = ["finished  one, ", "finished  one-2, ", "3 of 3 files finished"]
        },
        ContractCase("a file that does not have its length", "-i list --json").with {
            $0.files["list"] = "{\"url\":\"SERVER/one\",\"size\":39999}\n{\"url\":\"SERVER/two\",\"size\":301}\n"
            $0.status = 1
            $0.output = ["\"code\":\"unexpectedByteCount\""]
        },
        ContractCase("an empty manifest", "-i - --json").with { $0.output = ["{\"event\":\"summary\",\"finished\":0"] },
        ContractCase("a bad line stops everything before the first request", "-i list").with {
            $0.files["list"] = "SERVER/one\nSERVER/two\n  outt=x\n"
            $0.status = 64
            $0.error = ["Error: list:3: this option is not supported"]
        },
        ContractCase("a path that is taken", "-i list").with {
            $0.files["list"] = "SERVER/one\nSERVER/two\n  out=./one\n"
            $0.status = 64
            $0.error = ["Error: list:3: one is already the name of the file of another URL"]
        },
        ContractCase("a later bad line keeps what has finished", "-i list -d files -q").with {
            $0.files["list"] = "SERVER/one\n" + String(repeating: "SERVER/two\n", count: 1000) + "nonsense\n"
            $0.status = 64
            $0.error = ["Error: list:1002: "]
            $0.results = ["files/one": "one", "files/two": "two"]
        },
        .misuse("a manifest that does not exist", "-i missing", "missing: cannot be read: No such file"),
        .misuse("a manifest that is a directory", "-i .", "cannot be read: Is a directory"),
        .misuse("a relative line without a base", "-i list", "list:1: ", "requires --base").with {
            $0.files["list"] = "one\n"
        },
    ]
}
