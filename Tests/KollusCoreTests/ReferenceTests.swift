import CurlKit
import KollusTestSupport
import SealKit
import Testing

@testable import KollusCore

@Suite struct ReferenceTests {
  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Wed, 31 Dec 1969 23:59:59 GMT", -1), ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400),
    ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
    // The two forms of old servers.
    ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777), ("Sun Nov  6 08:49:37 1994", 784_111_777),
    ("Tuesday, 29-Feb-00 00:00:00 GMT", 951_782_400), ("Tue Feb 29 00:00:00 2000", 951_782_400),
    ("Wednesday, 01-Jan-70 00:00:00 GMT", 3_155_760_000), ("Fri Dec 31 23:59:59 9999", 253_402_300_799),
    ("Thursday, 31-Dec-76 23:59:59 GMT", 3_376_684_799), ("Saturday, 01-Jan-77 00:00:00 GMT", 220_924_800),
    ("Sat Nov 26 08:49:37 1994", 785_839_777),
  ]) func `an HTTP date is read`(_ text: String, _ seconds: Int64) {
    #expect(HTTPDate.seconds(text) == seconds)
  }

  @Test(arguments: [
    "", "0", "soon", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
    "Sun, 6 Nov 1994 08:49:37 GMT",
    "Sunday, 6-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 UTC",
    "Sunday, 06-Nov 08:49:37 GMT", "Sunday, 06-Nov--94 08:49:37 GMT", "Sun Nov  6 08:49:37 94",
    "Sun Nov  6 08:49:37 1994 GMT", "Sun Nov  0 08:49:37 1994", "Sun Nov 006 08:49:37 1994",
    "Sun Nov  x 08:49:37 1994", "Nov  6 08:49:37 1994",
    // Days that no calendar has.
    "Thu, 29 Feb 2001 00:00:00 GMT", "Mon, 29 Feb 2100 00:00:00 GMT", "Wed, 30 Feb 2000 00:00:00 GMT",
    "Thursday, 31-Apr-26 00:00:00 GMT", "Wed Jun 31 00:00:00 2026", "Mon, 31 Nov 1994 08:49:37 GMT",
    "Sun Dec 32 00:00:00 2026", "Sun, 32 Nov 1994 08:49:37 GMT",
    "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
    "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 1994 8:49:37 GMT",
    "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov -994 08:49:37 GMT", "Sun, 06 Nov 99999 08:49:37 GMT",
    "Sun, 06 Nov ١٩٩٤ 08:49:37 GMT", "Sun, 06 Nov 1000 08:49:37 GMT",
  ]) func `what is no HTTP date is nil`(_ text: String) { #expect(HTTPDate.seconds(text) == nil) }

  @Test(
    arguments: [
      (nil, nil), ("0", 1_000), ("120", 1_120), ("4294967295", 4_294_968_295), ("", nil), ("-5", nil),
      ("+5", nil),
      ("1.5", nil), ("soon", nil), (" 5", nil), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
      ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777), ("Sun Nov  6 08:49:37 1994", 784_111_777),
      ("Wed, 30 Feb 2000 00:00:00 GMT", nil),
    ] as [(String?, Double?)]) func `Retry-After is a time`(_ text: String?, _ time: Double?)
  {
    let head = CoreStage.head(503, text.map { ["Retry-After": $0] } ?? [:])
    #expect(RetryAfter.time(head, now: 1_000) == time)
  }

  @Test(arguments: [
    "a", "http", "http:/x", "httpx://a", "kollus", "../../etc/passwd", "한", "a b", "ftp://a/",
  ])
  func `a word that is no web URL is a key`(_ word: String) throws {
    #expect(try ContentReference(word: word) == .mediaContentKey(word))
  }

  @Test(arguments: ["http://h/s?jwt=x", "HTTPS://h/s"]) func `a web URL is a play URL`(_ word: String) throws
  {
    #expect(try ContentReference(word: word) == .playURL(CoreStage.address(word)))
    #expect(try ContentReference(key: word) == .mediaContentKey(word))
  }

  @Test(arguments: ["", "a\0b", "http://", "https://user:pass@h/?secret", "http://h h/?secret"])
  func `what means nothing is usage and shows no token`(_ word: String) {
    let error = #expect(throws: KollusError.self) { try ContentReference(word: word) }
    #expect(error?.kind == .usage)
    #expect(error?.message.contains("secret") == false)
  }

  @Test(
    arguments: [
      (
        "kollus://download?url=http%3A%2F%2Fh%2Fs%3Fjwt%3Dx&folder=a%2Fb", "download", ["http://h/s?jwt=x"],
        "a/b"
      ),
      ("KOLLUS://list", "list", [], nil),
      ("kollus://download_play?url=a&url=b&other=1", "download_play", ["a", "b"], nil),
      ("kollus://path/?folder=%2Fa%2F&", "path", [], "a"), ("kollus://download?url=", "download", [""], nil),
      ("kollus://download?url", "download", [""], nil), ("kollus://list?folder=", "list", [], ""),
      ("kollus://download?url=%ED%95%9C", "download", ["한"], nil),
    ] as [(String, String, [String], String?)])
  func `a kollus URL is taken apart`(_ word: String, _ action: String, _ urls: [String], _ folder: String?)
    throws
  {
    let request = try #require(try ContentReference.request(word))
    #expect(request.action == action)
    #expect(request.urls == urls)
    #expect(request.folder == folder)
  }

  @Test(arguments: ["a", "http://h/", "kollus:/download", "kollus:"]) func `another word is no kollus URL`(
    _ word: String
  ) throws {
    #expect(try ContentReference.request(word) == nil)
  }

  @Test(arguments: [
    "kollus://", "kollus://?", "kollus://play", "kollus://Download", "kollus://download?url=%",
    "kollus://list?folder=%4",
    "kollus://list?folder=%zz", "kollus://list?folder=%ff", "kollus://list?folder=..",
    "kollus://list?folder=a%00b",
  ]) func `a kollus URL that is not right is usage`(_ word: String) {
    let error = #expect(throws: KollusError.self) { try ContentReference.request(word) }
    #expect(error?.kind == .usage)
  }

  @Test(arguments: [
    ("", ""), ("/", ""), ("///", ""), ("a", "a"), ("/a/b/", "a/b"), ("a//b", "a/b"),
    ("math/unit 1", "math/unit 1"),
    ("한/국", "한/국"), ("...", "..."), (".hidden", ".hidden"),
  ]) func `a folder path is made plain`(_ path: String, _ plain: String) throws {
    #expect(try FolderPath.checked(path) == plain)
  }

  @Test(arguments: [
    ".", "..", "a/../b", "a/./b", "a\nb", "a\u{0}b", "a\u{7f}b", "a\u{9b}b",
    String(repeating: "x", count: 256),
    String(repeating: "a/", count: 33),
  ]) func `a folder path that is not plain is usage`(_ path: String) {
    #expect(throws: KollusError.self) { try FolderPath.checked(path) }
  }

  private func playURL(_ claims: String, _ more: String = "") throws -> PlayURL {
    let token = JSONWebToken.signed(payload: claims, key: CoreStage.key)
    return try PlayURL(CoreStage.address("https://h/s?jwt=\(token)\(more)"))
  }

  @Test func `claims and user values are read`() throws {
    let url = try playURL(
      #"{"cuid":"someone","expt":1900000000,"mc":[{"mckey":"a"}]}"#,
      "&uservalue1=b&uservalue0=a+%ED%95%9C&uservalue10=c&uservalue01=x&uservalue100=x&uservalue=x&uservalue-1=x&uservalue2=%zz"
    )
    #expect(url.clientUserID == "someone")
    #expect(url.expires == 1_900_000_000)
    #expect(url.userValues.map(\.name) == ["uservalue0", "uservalue1", "uservalue10"])
    #expect(
      PlayURL.json(userValues: url.userValues) == #"{"uservalue0":"a 한","uservalue1":"b","uservalue10":"c"}"#)
    #expect(PlayURL.json(userValues: []) == "{}")
    #expect(PlayURL.json(userValues: [("uservalue0", ""), ("uservalue1", "b")]) == #"{"uservalue1":"b"}"#)
    #expect(PlayURL.json(userValues: [("uservalue0", "")]) == "{}")
  }

  @Test(arguments: ["", "jwt=", "jwt=a.b.c", "jwt=%zz", "jwt", "&&=&"])
  func `a token that cannot be read is left to the origin`(_ query: String) throws {
    let url = try PlayURL(CoreStage.address("https://h/s?\(query)"))
    #expect(url.clientUserID == nil)
    #expect(url.expires == nil)
    #expect(url.userValues.isEmpty)
  }

  @Test(arguments: [
    #"{"cuid":1,"expt":"x","mc":1}"#, #"{"mc":[1,null,"a",[]]}"#, "{}", #"{"mc":[{"drm_policy":null}]}"#,
  ])
  func `claims of a wrong type are no claims`(_ claims: String) throws {
    let url = try playURL(claims)
    #expect(url.clientUserID == nil)
    #expect(url.expires == nil)
  }

  @Test(arguments: [
    #"{"mc":[{"drm_policy":{}}]}"#, #"{"mc":[{"mckey":"a"},{"mckey":"b","drm_policy":{"kind":"widevine"}}]}"#,
  ]) func `a multi-DRM policy is refused`(_ claims: String) {
    let error = #expect(throws: KollusError.self) { try playURL(claims) }
    #expect(error?.code == -1_010)
    #expect(error?.kind == .refused)
  }

  @Test(arguments: [
    ("https://other/x", false, true), ("http://127.0.0.1/x", false, true),
    ("http://localhost/x", false, true),
    ("http://other/x", false, false), ("http://other/x", true, true),
  ]) func `plain http leaves the machine only when allowed`(_ text: String, _ allowed: Bool, _ passes: Bool)
    throws
  {
    let address = try CoreStage.address(text)
    let policy = HTTPPolicy(allowsPlainHTTP: allowed)
    do throws(KollusError) {
      try policy.check(address, for: "x")
      #expect(passes)
    } catch {
      #expect(!passes)
      #expect(error.kind == .refused)
    }
  }

  @Test(
    arguments: [
      (302, "/b", "https://h/b"), (301, "b", "https://h/a/b"), (303, "//o/b", "https://o/b"),
      (307, "https://o/", "https://o/"),
      (308, "?x", "https://h/a/s?x"), (302, "http://h/b", nil), (302, "http://127.0.0.1/b", nil),
      (302, "ftp://h/", nil),
      (302, "https://u:p@h/", nil), (300, "/b", nil), (304, "/b", nil), (200, "/b", nil), (302, nil, nil),
      (302, "", nil),
    ] as [(Int, String?, String?)])
  func `a redirect leads where it may`(_ status: Int, _ location: String?, _ target: String?) throws {
    let head = CoreStage.head(status, location.map { ["Location": $0] } ?? [:])
    let policy = HTTPPolicy(allowsPlainHTTP: true)
    #expect(policy.target(of: head, from: try CoreStage.address("https://h/a/s"))?.text == target)
  }
}
