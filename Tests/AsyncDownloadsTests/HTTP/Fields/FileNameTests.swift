import TestSupport
import Testing

@testable import AsyncDownloads

@Suite("File name", .endsWhenHung)
struct FileNameTests {
    private static let names: [(String, String?)] = [
        ("report.pdf", "report.pdf"),
        // The last component of a path.
        ("/etc/passwd", "passwd"),
        ("../../etc/passwd", "passwd"),
        ("a/b/../../../c", "c"),
        ("dir/", "dir"),
        ("dir//", "dir"),
        ("/", nil),
        ("", nil),
        ("a/\u{301}b", "\u{301}b"),
        // Names that mean a directory, also for a volume that ignores invisible characters.
        (".", nil),
        ("..", nil),
        ("a/..", nil),
        ("a/./", nil),
        ("..\u{200B}", nil),
        (".\u{200D}.", nil),
        ("\u{FEFF}", nil),
        // Characters that end a name early, or that hide or reorder a part of it.
        ("\0", "_"),
        (".\0.", "._."),
        ("a.txt\0.exe", "a.txt_.exe"),
        ("a\r\nb", "a__b"),
        ("a\tb\u{7F}c\u{85}d", "a_b_c_d"),
        ("\u{1B}[31mred", "_[31mred"),
        ("gpj.\u{202E}exe", "gpj._exe"),
        ("\u{2066}a\u{2067}b\u{2068}c\u{2069}", "_a_b_c_"),
        ("\u{202A}a\u{202B}b\u{202C}c\u{202D}d", "_a_b_c_d"),
        ("\u{61C}a\u{200E}b\u{200F}", "_a_b_"),
        ("a\u{2028}b\u{2029}c\u{FFFF}", "a_b_c_"),
        // Everything else stays.
        ("foo_1:2.3.deb", "foo_1:2.3.deb"),
        ("a*b", "a*b"),
        ("a\\b", "a\\b"),
        ("C:\\autoexec.bat", "C:\\autoexec.bat"),
        ("what?.txt", "what?.txt"),
        ("a<b>c\"d|e", "a<b>c\"d|e"),
        ("CON", "CON"),
        ("nul.txt", "nul.txt"),
        ("name.", "name."),
        ("name. . ", "name. . "),
        (" ", " "),
        ("...", "..."),
        (".bashrc", ".bashrc"),
        (".well-known", ".well-known"),
        (" .profile", " .profile"),
        ("~", "~"),
        ("-rf", "-rf"),
        ("$(rm -rf).sh", "$(rm -rf).sh"),
        ("\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}.png", "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}.png"),
        (
            "\u{645}\u{6CC}\u{200C}\u{62E}\u{648}\u{627}\u{647}\u{645}",
            "\u{645}\u{6CC}\u{200C}\u{62E}\u{648}\u{627}\u{647}\u{645}"
        ),
        ("a\u{AD}b\u{FEFF}c", "a\u{AD}b\u{FEFF}c"),
        ("日本 語.tar.gz", "日本 語.tar.gz"),
        ("e\u{301}.txt", "e\u{301}.txt"),
        (".\u{301}txt", ".\u{301}txt"),
        ("a\u{FF0F}b", "a\u{FF0F}b"),
        ("\u{A0}name\u{3000}", "\u{A0}name\u{3000}"),
        // Names of the hidden files of this package, as any volume may compare them.
        (".a.0123456789abcdef.lock", "_.a.0123456789abcdef.lock"),
        (".a.0123456789ABCDEF.Checkpoint", "_.a.0123456789ABCDEF.Checkpoint"),
        (".a.0123456789abcdef.loc\u{212A}", "_.a.0123456789abcdef.loc\u{212A}"),
        (".a.0123456789abcdef.lo\u{200C}ck", "_.a.0123456789abcdef.lo\u{200C}ck"),
        (".a.0123456789abcdef.lock. ", "_.a.0123456789abcdef.lock. "),
        (".package.lock", ".package.lock"),
        ("a.0123456789abcdef.lock", "a.0123456789abcdef.lock"),
    ]

    @Test(arguments: names)
    func `rule 64: a name keeps all that is harmless`(_ suggestion: String, _ expected: String?) {
        let name = FileName.sanitized(suggestion)
        #expect(name.map { Array($0.utf8) } == expected.map { Array($0.utf8) })
        #expect(name.flatMap(FileName.sanitized) == name)
    }

    @Test func `boundary 2: no name is that of a hidden file of this package`() throws {
        let names = PartialNames(.sample(in: "/d"))
        let paths = [names.lock, names.checkpoint] + PartialNames.Suffix.allCases.map { names.path(.new(), $0) }
        for hidden in paths.map(PartialNames.lastComponent) {
            try #require(HiddenName(hidden) != nil)
            #expect(FileName.sanitized(hidden) == "_" + hidden)
            #expect(FileName.sanitized(hidden + ".txt") == hidden + ".txt")
            #expect(HiddenName(FileName.numbered(hidden, 2)) == nil)
        }
    }

    private static let portableNames: [(String, String)] = [
        ("report.pdf", "report.pdf"),
        ("foo_1:2.3.deb", "foo_1_2.3.deb"),
        ("a<b>c:d\"e|f?g*h\\i", "a_b_c_d_e_f_g_h_i"),
        ("file.txt::$DATA", "file.txt__$DATA"),
        ("name.", "name"),
        ("name. . ", "name"),
        ("...", "_"),
        (" ", "_"),
        (".bashrc", ".bashrc"),
        (" a", " a"),
        ("\u{1F468}\u{200D}\u{1F469}.png", "\u{1F468}\u{200D}\u{1F469}.png"),
        (String(repeating: "a", count: 254) + "?", String(repeating: "a", count: 254) + "_"),
        ("con." + String(repeating: "b", count: 251), "_con." + String(repeating: "b", count: 250)),
        ("con." + String(repeating: "b", count: 247) + ".txt", "_con." + String(repeating: "b", count: 246) + ".txt"),
    ]

    @Test(arguments: portableNames)
    func `a volume that restricts names gets a portable one`(_ name: String, _ expected: String) {
        #expect(FileName.portable(name) == expected)
        #expect(FileName.portable(expected) == expected)
    }

    @Test(arguments: [
        "CON", "con", "Prn", "AUX", "NUL", "COM1", "com9", "LPT1", "COM\u{B9}", "LPT\u{B3}", "CONIN$", "conout$",
        "nul.txt", "NUL.tar.gz", "con .txt", "com1.",
    ])
    func `a portable name is not one that Windows reserves`(_ suggestion: String) {
        let name = FileName.portable(suggestion)
        #expect(name.hasPrefix("_"))
        #expect(FileName.portable(name) == name)
    }

    @Test(arguments: ["CONSOLE", "COM0", "COM10", "COM", "NULL", "a.con", "_CON", "con-2", "lpt1x.txt", "\u{212A}on"])
    func `a name that only resembles a reserved one is portable`(_ suggestion: String) {
        #expect(FileName.portable(suggestion) == suggestion)
    }

    @Test(arguments: [
        ("image.jpg", 1, "image.jpg"), ("image.jpg", 2, "image-2.jpg"), ("image-2.jpg", 2, "image-2-2.jpg"),
        ("archive.tar.gz", 3, "archive.tar-3.gz"), ("Makefile", 2, "Makefile-2"), (".bashrc", 2, ".bashrc-2"),
        ("v1. final", 2, "v1. final-2"), ("a.", 2, "a.-2"),
        (String(repeating: "a", count: 251) + ".jpg", 12, String(repeating: "a", count: 248) + "-12.jpg"),
    ])
    func `the first numbered variant of a name has the number 2`(_ name: String, _ number: Int, _ expected: String) {
        #expect(FileName.numbered(name, number) == expected)
        // The ends of a cut name and of one that ends in a dot are ambiguous.
        guard number > 1, name.utf8.count < 200, !name.hasSuffix(".") else { return }
        let variant = FileName.unnumbered(expected)
        #expect(variant?.name == name && variant?.number == number)
    }

    private static let longNames: [(String, String?)] = [
        (String(repeating: "a", count: 255), String(repeating: "a", count: 255)),
        (String(repeating: "a", count: 256), String(repeating: "a", count: 255)),
        (String(repeating: "a", count: 300) + ".pdf", String(repeating: "a", count: 251) + ".pdf"),
        (String(repeating: "é", count: 200) + ".pdf", String(repeating: "é", count: 125) + ".pdf"),
        ("👨‍👩‍👧" + String(repeating: "日", count: 90), "👨‍👩‍👧" + String(repeating: "日", count: 79)),
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
        ("a. " + String(repeating: " ", count: 300) + "b", "a. " + String(repeating: " ", count: 252)),
        // The first character is all that fits, or too long itself.
        (".a" + String(repeating: "\u{301}", count: 300), nil),
        ("/..b" + String(repeating: "\u{301}", count: 300), nil),
        (
            ".a.0123456789abcdef" + String(repeating: "x", count: 300) + ".lock",
            ".a.0123456789abcdef" + String(repeating: "x", count: 231) + ".lock"
        ),
        (
            "." + String(repeating: "a", count: 232) + ".0123456789abcdef.lock",
            "_." + String(repeating: "a", count: 232) + ".0123456789abcde.lock"
        ),
    ]

    @Test(arguments: longNames)
    func `a long name is cut between characters and keeps its extension`(
        _ suggestion: String, _ expected: String?
    ) {
        let name = FileName.sanitized(suggestion)
        #expect(name == expected)
        #expect(name.map { $0.utf8.count <= FileName.maximumByteCount } != false)
        #expect(name.flatMap(FileName.sanitized) == name)
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
        ("/..%5c..%5ccmd.exe", "..\\..\\cmd.exe"),
        ("/a%2f", "a"),
        ("/%2f", nil),
        ("/a%00b", "a_b"),
        ("/%0d%0aSet-Cookie:x", "__Set-Cookie:x"),
        ("/what%3F.txt", "what?.txt"),
        ("/.well-known", ".well-known"),
        ("/%c0%ae%c0%ae", "%c0%ae%c0%ae"),
        ("/é%CC%81", "é\u{301}"),
        ("/file.txt;v=1", "file.txt;v=1"),
        ("/CON", "CON"),
    ]

    @Test(arguments: paths)
    func `the last component of a URL path is decoded and sanitized`(_ path: String, _ expected: String?) {
        #expect(FileName.fromURLPath(path) == expected)
    }
}
