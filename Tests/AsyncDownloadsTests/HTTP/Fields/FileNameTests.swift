import AsyncDownloads
import TestSupport
import Testing

@Suite("File name", .endsWhenHung)
struct FileNameTests {
    private static let escapes: [(String, String?)] = [
        ("report.pdf", "report.pdf"),
        ("/etc/passwd", "passwd"),
        ("../../etc/passwd", "passwd"),
        ("..\\..\\windows\\system32\\cmd.exe", "cmd.exe"),
        ("C:\\autoexec.bat", "autoexec.bat"),
        ("C:autoexec.bat", "C_autoexec.bat"),
        ("a/b\\c/d.txt", "d.txt"),
        ("a\\b/c\\d.txt", "d.txt"),
        ("\\\\server\\share\\file", "file"),
        ("dir/", "dir"),
        ("dir\\", "dir"),
        ("dir//", "dir"),
        ("/", nil),
        ("\\", nil),
        ("//\\//", nil),
        ("", nil),
        (".", nil),
        ("..", nil),
        ("...", nil),
        (" ", nil),
        (". . .", nil),
        ("a/..", nil),
        ("a/../", nil),
        ("a/.", nil),
        ("..\u{200B}", nil),
        (".\u{202E}.", nil),
        (".\0.", nil),
        (".\0./.\0./x", "x"),
        ("\0", nil),
        ("a\0/b", "b"),
        ("a.txt\0.exe", "a.txt.exe"),
        (".ssh", "ssh"),
        ("...hidden", "hidden"),
        (" .profile", "profile"),
        (".htaccess.", "htaccess"),
        ("name.", "name"),
        ("name. . ", "name"),
        ("\u{A0}name\u{3000}", "name"),
        ("a\r\nb", "ab"),
        ("a\tb\u{7F}c\u{85}d", "abcd"),
        ("\u{1B}[31mred", "[31mred"),
        ("gpj.\u{202E}exe", "gpj.exe"),
        ("\u{2066}a\u{2069}", "a"),
        ("a\u{FEFF}b\u{200D}c\u{2028}d\u{FFFF}e", "abcde"),
        ("a<b>c:d\"e|f?g*h", "a_b_c_d_e_f_g_h"),
        ("file:stream", "file_stream"),
        ("?", "_"),
        ("~/.bashrc", "bashrc"),
        ("$(rm -rf).sh", "$(rm -rf).sh"),
        ("日本 語.tar.gz", "日本 語.tar.gz"),
        ("e\u{301}.txt", "e\u{301}.txt"),
        (".\u{301}txt", "\u{301}txt"),
        ("a\u{FF0F}b", "a\u{FF0F}b"),
    ]

    @Test(arguments: escapes)
    func `a suggested name never leaves its directory`(_ suggestion: String, _ expected: String?) {
        let name = FileName.sanitized(suggestion)
        #expect(name.map { Array($0.utf8) } == expected.map { Array($0.utf8) })
        #expect(name.flatMap(FileName.sanitized) == name)
    }

    @Test(arguments: [
        "CON", "con", "Prn", "AUX", "NUL", "COM1", "com9", "LPT1", "COM\u{B9}", "LPT\u{B3}", "CONIN$", "conout$",
        "nul.txt", "NUL.tar.gz", "con .txt", "com1.",
    ])
    func `a name that Windows reserves gets a prefix`(_ suggestion: String) throws {
        let name = try #require(FileName.sanitized(suggestion))
        #expect(name.hasPrefix("_"))
        #expect(FileName.sanitized(name) == name)
    }

    @Test(arguments: ["CONSOLE", "COM0", "COM10", "COM", "NULL", "a.con", "_CON", "con-1", "lpt1x.txt", "\u{212A}on"])
    func `a name that only resembles a reserved one is kept`(_ suggestion: String) {
        #expect(FileName.sanitized(suggestion) == suggestion)
    }

    private static let longNames: [(String, String)] = [
        (String(repeating: "a", count: 255), String(repeating: "a", count: 255)),
        (String(repeating: "a", count: 256), String(repeating: "a", count: 255)),
        (String(repeating: "a", count: 300) + ".pdf", String(repeating: "a", count: 251) + ".pdf"),
        (String(repeating: "é", count: 200) + ".pdf", String(repeating: "é", count: 125) + ".pdf"),
        ("👨‍👩‍👧" + String(repeating: "日", count: 90), "👨👩👧" + String(repeating: "日", count: 81)),
        (String(repeating: "e\u{301}", count: 100), String(repeating: "e\u{301}", count: 85)),
        ("a" + String(repeating: "\u{301}", count: 300), "a" + String(repeating: "\u{301}", count: 127)),
        (
            String(repeating: "a", count: 250) + "." + String(repeating: "b", count: 17),
            String(repeating: "a", count: 250) + ".bbbb"
        ),
        (
            String(repeating: "a", count: 250) + "." + String(repeating: "b", count: 16),
            String(repeating: "a", count: 238) + "." + String(repeating: "b", count: 16)
        ),
        ("Mr. " + String(repeating: "a", count: 300), "Mr. " + String(repeating: "a", count: 251)),
        ("a. " + String(repeating: " ", count: 300) + "b", "a"),
        (
            String(repeating: "a", count: 250) + String(repeating: " ", count: 50) + "b.txt",
            String(repeating: "a", count: 250) + ".txt"
        ),
        ("con" + String(repeating: " ", count: 300) + "b.txt", "_con.txt"),
        ("con." + String(repeating: "b", count: 251), "_con." + String(repeating: "b", count: 250)),
        ("con." + String(repeating: "b", count: 247) + ".txt", "_con." + String(repeating: "b", count: 246) + ".txt"),
    ]

    @Test(arguments: longNames)
    func `a long name is cut between characters and keeps its extension`(
        _ suggestion: String, _ expected: String
    ) throws {
        let name = try #require(FileName.sanitized(suggestion))
        #expect(name == expected)
        #expect(name.utf8.count <= FileName.maximumByteCount)
        #expect(FileName.sanitized(name) == name)
    }

    private static let paths: [(String, String?)] = [
        ("/a/b/c.zip", "c.zip"),
        ("c.zip", "c.zip"),
        ("/a/b/", "b"),
        ("/a//", "a"),
        ("/", nil),
        ("", nil),
        ("/a/..", nil),
        ("/%2e%2e", nil),
        ("/a%20b.txt", "a b.txt"),
        ("/a+b.txt", "a+b.txt"),
        ("/%E2%82%AC.txt", "€.txt"),
        ("/%e2%82%ac.txt", "€.txt"),
        ("/%E2%82.txt", "%E2%82.txt"),
        ("/%ff%20x", "%ff%20x"),
        ("/%ff-%20x", "%ff- x"),
        ("/100%", "100%"),
        ("/100%zz%4", "100%zz%4"),
        ("/%%41", "%A"),
        ("/%2541", "%41"),
        ("/..%2f..%2fetc%2fpasswd", "passwd"),
        ("/..%5c..%5ccmd.exe", "cmd.exe"),
        ("/a%2f", "a"),
        ("/%2f", nil),
        ("/a%00b", "ab"),
        ("/%0d%0aSet-Cookie:x", "Set-Cookie_x"),
        ("/%c0%ae%c0%ae", "%c0%ae%c0%ae"),
        ("/é%CC%81", "é\u{301}"),
        ("/file.txt;v=1", "file.txt;v=1"),
        ("/CON", "_CON"),
    ]

    @Test(arguments: paths)
    func `the last component of a URL path is decoded and sanitized`(_ path: String, _ expected: String?) {
        #expect(FileName.fromURLPath(path) == expected)
    }
}
