import CurlKit
import Testing

@Suite struct WebAddressTests {
  @Test(
    arguments: [
      ("http://a/", "http", "a", 80, "/", nil), ("https://a", "https", "a", 443, "/", nil),
      ("HTTPS://A.Example:8443/x?y=1", "https", "a.example", 8_443, "/x", "y=1"),
      ("http://a/b/c?d=e?f&g#h", "http", "a", 80, "/b/c", "d=e?f&g"),
      ("http://[::1]:81/", "http", "[::1]", 81, "/", nil), ("http://a:80/", "http", "a", 80, "/", nil),
      ("http://a/%2F%20x", "http", "a", 80, "/%2F%20x", nil),
      ("http://a/../b", "http", "a", 80, "/b", nil),
    ] as [(String, String, String, Int, String, String?)])
  func `a URL is taken apart`(
    _ text: String, _ scheme: String, _ host: String, _ port: Int, _ path: String, _ query: String?
  ) throws {
    let address = try #require(WebAddress(text))
    #expect(address.scheme == scheme)
    #expect(address.host == host)
    #expect(address.port == port)
    #expect(address.path == path)
    #expect(address.query == query)
  }

  @Test(arguments: [
    "", "a", "a/b", "/a", "//a/b", "?x", "ftp://a/", "file:///etc/passwd", "gopher://a/", "javascript:x",
    "data:text/plain,x", "http://", "http://?x", "http://user@a/", "http://user:pass@a/", "http://:pass@a/",
    "http://a b/", "http://a/ b", " http://a/", "http://a/\u{0}", "http://a/\r\nX: y", "http://a/\t",
    "http://a/\u{7f}", "http://a:0x50/", "http://a:99999/", "http://a:-1/", "http://[::1",
    "http://127.+1.0.1/",
  ]) func `what is no absolute web URL is refused`(_ text: String) {
    #expect(WebAddress(text) == nil)
  }

  @Test func `a URL longer than 8 KiB is refused`() {
    let longest = "http://a/" + String(repeating: "x", count: 8_192 - 9)
    #expect(WebAddress(longest) != nil)
    #expect(WebAddress(longest + "x") == nil)
  }

  @Test(arguments: [
    ("../media/x", "https://h/media/x"), ("media/x", "https://h/a/media/x"),
    ("/media/x", "https://h/media/x"),
    ("//other/x", "https://other/x"), ("http://other/x", "http://other/x"), ("x?y=z", "https://h/a/x?y=z"),
    ("../../../x", "https://h/x"), ("./x", "https://h/a/x"),
  ]) func `a reference is resolved against its base`(_ reference: String, _ whole: String) throws {
    let base = try #require(WebAddress("https://h/a/s?jwt=secret"))
    #expect(WebAddress(reference, relativeTo: base)?.text == whole)
  }

  @Test func `a token in the base's query does not travel`() throws {
    let base = try #require(WebAddress("https://h/s?jwt=secret"))
    #expect(WebAddress("../media/x", relativeTo: base)?.text == "https://h/media/x")
    #expect(WebAddress("media/x", relativeTo: base)?.text == "https://h/media/x")
  }

  @Test(arguments: ["ftp://a/", "file:///x", "http://user:pass@h/x", "//user@h/x", "a b", "", "javascript:x"])
  func `a reference that leaves the web is refused`(_ reference: String) throws {
    let base = try #require(WebAddress("https://h/a/s"))
    #expect(WebAddress(reference, relativeTo: base) == nil)
  }

  @Test func `letters beyond ASCII are percent-encoded`() throws {
    let address = try #require(WebAddress("http://a/한?q=글"))
    #expect(
      address.text == "http://a/%ED%95%9C?q=%EA%B8%80" || address.text == "http://a/%ed%95%9c?q=%ea%b8%80")
  }

  @Test(arguments: [
    ("http://localhost/", true), ("http://LOCALHOST:1/", true), ("http://127.0.0.1/", true),
    ("http://127.255.1.2/", true), ("http://[::1]/", true), ("http://[0:0:0:0:0:0:0:1]/", true),
    ("http://127.0.0.1.example/", false), ("http://localhost.example/", false), ("http://128.0.0.1/", false),
    ("http://[::2]/", false), ("http://10.0.0.1/", false), ("http://127.0.0.256/", false),
    ("http://0.0.0.0/", false), ("http://1270.0.0.1/", false), ("http://xlocalhost/", false),
  ]) func `loopback is told`(_ text: String, _ isLoopback: Bool) throws {
    // What libcurl does not take at all reaches no machine.
    #expect((WebAddress(text)?.isLoopback ?? false) == isLoopback)
  }

  @Test(arguments: [
    ("https://h/s?jwt=secret", "https://h/s?…"), ("https://h/s", "https://h/s"),
    ("https://h/s#jwt=secret", "https://h/s"), ("https://h/?a=1?b=2", "https://h/?…"),
  ]) func `what may be a token is not shown`(_ text: String, _ shown: String) throws {
    #expect(try #require(WebAddress(text)).display == shown)
  }

  @Test(arguments: [
    ("abcXYZ019-_~.", "abcXYZ019-_~."), ("a/b", "a%2Fb"), ("a b", "a%20b"), ("한", "%ED%95%9C"), (".", "%2E"),
    ("..", "%2E%2E"), ("...", "..."), ("\n", "%0A"), ("%", "%25"), ("?#&=+", "%3F%23%26%3D%2B"), ("", ""),
  ]) func `a path segment is encoded`(_ segment: String, _ encoded: String) {
    #expect(WebAddress.encode(segment) == encoded)
  }

  @Test func `every byte survives being a path segment`() throws {
    for byte in UInt8(1)...127 {
      let segment = "a\(Character(Unicode.Scalar(byte)))"
      let address = try #require(WebAddress("http://h/contents/\(WebAddress.encode(segment))"))
      #expect(address.path == "/contents/\(WebAddress.encode(segment))")
    }
  }
}
