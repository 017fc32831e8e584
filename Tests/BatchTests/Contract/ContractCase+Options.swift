internal import LoopbackServer

extension ContractCase {
    /// The effects of single options, and wrong usage.
    static let options = [
        ContractCase("the directory is created, and the file has the name in its URL", "SERVER/one?s3cret -d new/dir")
            .with {
                $0.error = [
                    "started   one, 39.1 KiB\n", "finished  one, 39.1 KiB in ", "1 of 1 file finished, 39.1 KiB in ",
                ]
                $0.results = ["new/dir/one": "one"]
            },
        ContractCase("-q shows errors only", "SERVER/one -o sub/name -q").with {
            $0.results = ["sub/name": "one"]
            $0.absent = ["one", "finished"]
        },
        ContractCase("a single file with its digest", "SERVER/one --checksum sha-256=SHA:one").with {
            $0.results = ["one": "one"]
        },
        ContractCase("headers from a file", "SERVER/one --header @secret --public-header X-Public:1").with {
            $0.files["secret"] = "# comment\nAuthorization: Bearer s3cret\nX-Two: 2\n"
            $0.requests = ["one": ["Authorization": "Bearer s3cret", "X-Two": "2", "X-Public": "1"]]
            $0.results = ["one": "one"]
        },
        ContractCase("logins from ~/.netrc for exactly the host", "SERVER/one HOST/two --netrc").with {
            $0.files["logins"] = "machine 127.0.0.1 login user password s3cret\n"
            $0.environment["NETRC"] = "logins"
            $0.requests = ["one": ["Authorization": "Basic dXNlcjpzM2NyZXQ="], "two": ["Authorization": nil]]
            $0.results = ["one": "one", "two": "two"]
        },
        ContractCase("cookies by host and path", "SERVER/one SERVER/sub/three --load-cookies jar").with {
            $0.files["jar"] = "127.0.0.1\tFALSE\t/sub\tFALSE\t0\ta\ts3cret\n127.0.0.1\tFALSE\t/\tTRUE\t0\tb\t2\n"
            $0.requests = ["one": ["Cookie": nil], "sub/three": ["Cookie": "a=s3cret"]]
            $0.results = ["one": "one", "three": "sub/three"]
        },
        ContractCase("the time of the file is that of the server's", "SERVER/one SERVER/two --remote-time").with {
            $0.results = ["one": "one", "two": "two"]
        },
        ContractCase("connections over IPv4", "SERVER/one HOST/two -4").with {
            $0.results = ["one": "one", "two": "two"]
        },
        ContractCase("no connection over IPv6 with an IPv4 address", "SERVER/one -6 --json --retries 0").with {
            $0.status = 1
            $0.output = ["\"code\":\"hostNotFound\""]
        },
        ContractCase("a report and a failed manifest", "-i list --report r.json --failed f.txt -d files --retries 0")
            .with {
                $0.files["list"] = """
                    SERVER/one
                    SERVER/missing?token=s3cret
                      out=m
                      header=X: s3cret-header
                      public-header=Y: z
                    DEAD/gone
                      mirror=DEAD/away
                    """
                $0.status = 75
                $0.error = ["run the same command again"]
                $0.results = ["files/one": "one"]
                $0.texts = [
                    "r.json": [
                        "\"interrupted\":false", "\"finished\":1,\"failed\":2,",
                        "\"url\":\"SERVER/missing\",\"result\":\"failed\"",
                        "\"sha256\":\"SHA:one\"",
                    ],
                    "f.txt": [
                        "SERVER/missing?token=s3cret\n  out=m\n  public-header=Y: z\n",
                        "DEAD/gone\n  mirror=DEAD/away\n",
                    ],
                ]
            },
        ContractCase("results that would replace a file", "-i list --report files/a --failed files/b -d files").with {
            $0.files["list"] = "SERVER/one\n  out=a\nSERVER/two\n  out=b\nSERVER/x/one\n  out=c\n"
            $0.status = 1
            $0.error = ["a is the file of --report or --failed", "b is the file of --report or --failed"]
            $0.results = ["files/c": "x/one"]
            $0.texts = ["files/a": ["\"failed\":2"], "files/b": ["SERVER/one", "SERVER/two"]]
        },
        .misuse("one file for both results", "SERVER/one --report r --failed ./r", "written to the same file"),
        .misuse("a manifest that would be replaced", "-i list --failed ./list", "--failed is read as a manifest").with {
            $0.files["list"] = "SERVER/one\n"
        },
        ContractCase("a directory that appears in one step", "-i list --atomic -d all/files --report r.json").with {
            $0.files["list"] = "SERVER/one\n  out=sub/a\nSERVER/two\n"
            $0.results = ["all/files/sub/a": "one", "all/files/two": "two"]
            $0.texts = ["r.json": ["/all/files/sub/a\"", "/all/files/two\""]]
        },
        .misuse("--atomic without a directory", "SERVER/one --atomic", "--atomic requires -d"),
        .misuse(
            "--atomic and --existing fail", "SERVER/one --atomic -d files --existing fail",
            "--existing fail cannot be combined with --atomic"),
        .misuse("--atomic for this directory", "SERVER/one --atomic -d ../.", "cannot replace the current directory"),
        .misuse(
            "results in a directory that is replaced", "SERVER/one --atomic -d files --failed files/f",
            "the file of --failed cannot be in the directory"),
        ContractCase("a size in a manifest", "-i list --failed f.txt --retries 0").with {
            $0.files["list"] = "SERVER/one\n  size=5\n"
            $0.status = 1
            $0.error = ["one"]
            $0.texts = ["f.txt": ["SERVER/one\n  size=5\n"]]
        },
        ContractCase("a result that cannot be written", "SERVER/one --report . ").with {
            $0.status = 64
            $0.error = ["Error: . is a directory"]
        },
        ContractCase("a version", "--version").with { $0.output = ["batch "] },
        ContractCase("a help that hides what few need", "--help").with {
            $0.output = ["--header @FILE", "--per-host", "--host-patience", "-4, --ipv4"]
            $0.absent = ["--durability", "--in-use", "--engine"]
        },
        .misuse("an option without a URL", "-q", "-q was given, but nothing to download"),
        .misuse(
            "a misspelled option", "SERVER/one --cheksum sha-256=00",
            "unknown option --cheksum; did you mean --checksum?"),
        .misuse("-o with two URLs", "SERVER/one SERVER/two -o x", "-o requires a single URL"),
        .misuse("a missing value", "SERVER/one -x", "Missing value"),
        .misuse("an impossible port", "http://127.0.0.1:99999/x", "a port is a number from 1 to 65535"),
        .misuse("another scheme", "ftp://127.0.0.1/x", "only http and https"),
        .misuse("a missing file of logins", "SERVER/one --netrc", ".netrc cannot be read"),
        .misuse("a file without cookies", "SERVER/one --load-cookies jar", "jar: no line is a cookie").with {
            $0.files["jar"] = "s3cret\n"
        },
    ]
}
