import AsyncDownloads
import TestSupport
import Testing

@Suite("Content-Disposition (RFC 6266)", .endsWhenHung)
struct ContentDispositionTests {
    private static let examplesOfTheRFC: [(String, String?)] = [
        ("Attachment; filename=example.html", "example.html"),
        ("INLINE; FILENAME= \"an example.html\"", "an example.html"),
        ("attachment; filename*= UTF-8''%e2%82%ac%20rates", "€ rates"),
        ("attachment; filename=\"EURO rates\"; filename*=utf-8''%e2%82%ac%20rates", "€ rates"),
        ("attachment", nil),
        ("inline", nil),
    ]

    /// RFC 6266, 5.
    @Test(arguments: examplesOfTheRFC)
    func `the examples of the standard are parsed`(_ text: String, _ name: String?) {
        #expect(ContentDisposition(text).suggestedFileName == name)
    }

    private static let quotedStrings: [(String, String?)] = [
        (#"attachment; filename="a\"b.txt""#, #"a"b.txt"#),
        (#"attachment; filename="a\\b.txt""#, #"a\b.txt"#),
        (#"attachment; filename="a\b.txt""#, "ab.txt"),
        (#"attachment; filename="a;b=c.txt"; size=5"#, "a;b=c.txt"),
        (#"attachment; x="; filename=evil"; filename=good"#, "good"),
        (#"attachment; x="a\"; filename=evil"; filename=good"#, "good"),
        (#"attachment; filename="naïve €.txt""#, "naïve €.txt"),
        (#"attachment; filename="日本.txt""#, "日本.txt"),
        (#"attachment; filename="%41.txt""#, "%41.txt"),
        (#"attachment; filename="open"#, "open"),
        (#"attachment; filename="open\"#, "open"),
        (#"attachment; filename="../../etc/passwd""#, "../../etc/passwd"),
        (#"attachment; filename="""#, nil),
        (#"attachment; filename=" a ""#, " a "),
    ]

    /// RFC 9110, 5.6.4.
    @Test(arguments: quotedStrings)
    func `a quoted string is read without its quotation marks and escapes`(_ text: String, _ name: String?) {
        #expect(ContentDisposition(text).suggestedFileName == name)
    }

    private static let extendedValues: [(String, String?)] = [
        ("attachment; filename*=UTF-8''foo-%c3%a4.html", "foo-ä.html"),
        ("attachment; filename*=UTF-8'de'foo-%C3%A4.html", "foo-ä.html"),
        ("attachment; filename*=iso-8859-1''foo-%E4.html", "foo-ä.html"),
        ("attachment; filename*=ISO-8859-1'en'%A3%20rates", "£ rates"),
        ("attachment; filename*=UTF-8''a'b", "a'b"),
        ("attachment; filename*=UTF-8''a b.txt", "a b.txt"),
        ("attachment; filename*=\"UTF-8''a%20b.txt\"", "a b.txt"),
        ("attachment; filename*=UTF-8''%2e%2e%2fpasswd", "../passwd"),
        ("attachment; filename*=UTF-8''e%cc%81", "e\u{301}"),
    ]

    /// RFC 8187, 3.2.1.
    @Test(arguments: extendedValues)
    func `an extended value is decoded`(_ text: String, _ name: String?) {
        #expect(ContentDisposition(text).suggestedFileName == name)
    }

    @Test(arguments: [
        "UTF-8''%", "UTF-8''%4", "UTF-8''%zz", "UTF-8''a%C3", "UTF-8''%ff", "UTF-8''%c0%ae",
        "UTF-8''%ed%a0%80", "UTF-8''ä", "UTF-8''", "UTF-8'x", "UTF-8", "''x", "'x'y", "utf8''x", "windows-1252''x",
        "UTF-16''%00x", "foo.html", "",
    ])
    func `an extended value that cannot be decoded is ignored`(_ value: String) {
        #expect(ContentDisposition("attachment; filename*=\(value)").suggestedFileName == nil)
        #expect(ContentDisposition("attachment; filename*=\(value); filename=plain").suggestedFileName == "plain")
        #expect(ContentDisposition("attachment; filename=plain; filename*=\(value)").suggestedFileName == "plain")
    }

    private static let deviations: [(String, String?)] = [
        ("attachment; filename=first; filename=second", "first"),
        ("attachment; filename*=UTF-8''first; filename*=UTF-8''second; filename=x", "first"),
        ("attachment;filename=a", "a"),
        ("attachment ;\tfilename = a ; size = 5", "a"),
        ("  attachment  ;  filename  =  \"a\"  ", "a"),
        ("filename=a", "a"),
        ("filename=\"a b\"", "a b"),
        (";filename=a", "a"),
        ("attachment;; ;filename=a;", "a"),
        ("attachment; filename=my file.txt; size=5", "my file.txt"),
        ("attachment; filename=naïve.txt", "naïve.txt"),
        ("attachment; filename", nil),
        ("attachment; filename=", nil),
        ("attachment; filename==a", "=a"),
        ("attachment; xfilename=a", nil),
        ("attachment; filename-x=a", nil),
        ("attachment; filename*0=\"a\"; filename*1=\"b\"", nil),
        ("attachment filename=a", nil),
        ("attachment; size=5; filename=a; creation-date=\"Wed, 12 Feb 1997 16:29:51 -0500\"", "a"),
        ("", nil),
        ("\"", nil),
        ("=", nil),
        (";;;===\"\"\"", nil),
    ]

    @Test(arguments: deviations)
    func `a deviation from the grammar is accepted if its meaning is clear`(_ text: String, _ name: String?) {
        #expect(ContentDisposition(text).suggestedFileName == name)
    }

    @Test func `only the first Content-Disposition field is read`() {
        let headers: HeaderFields = [
            "content-disposition": "inline; filename=a", "Content-Disposition": "x; filename=b",
        ]
        #expect(ContentDisposition(headers)?.suggestedFileName == "a")
        #expect(ContentDisposition(HeaderFields()) == nil)
    }
}
