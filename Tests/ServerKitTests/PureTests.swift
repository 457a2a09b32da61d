import ServerKit
import Testing

@Suite struct PureTests {
  @Test(arguments: [
    (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
    (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
    (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
    (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 GMT"),
    (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"),
    (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
    (-1, "Thu, 01 Jan 1970 00:00:00 GMT"),
    (Int64.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
  ])
  func `a time is written as an HTTP date`(_ seconds: Int64, _ text: String) {
    #expect(HTTPDate.text(seconds: seconds) == text)
  }

  @Test(arguments: [
    ("plain", "plain"), ("a%2Fb", "a/b"), ("%ec%88%98", "수"), ("a+b", "a+b"), ("", ""), ("%", nil),
    ("%2", nil),
    ("%zz", nil), ("%2/", nil),
  ])
  func `escapes are decoded and broken ones refused`(_ text: String, _ decoded: String?) {
    #expect(PercentCoding.decode(text).map { String(decoding: $0, as: UTF8.self) } == decoded)
  }

  @Test(arguments: ["수학 1강", "100% ?#&+/", "日本語", "🙂", "\u{1}"])
  func `what is encoded decodes to itself`(_ text: String) {
    let encoded = PercentCoding.encode(text)
    #expect(encoded.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f })
    #expect(PercentCoding.decode(encoded) == Array(text.utf8))
  }

  @Test func `a form's fields keep their order, and those that cannot be read are left out`() {
    let fields = PercentCoding.fields(of: "a=1&b&c=%ED%95%9C+x&bad=%f&worse=%ff&a==2&&%61=3")
    #expect(fields.map(\.name) == ["a", "b", "c", "a", "a"])
    #expect(fields.map(\.value) == ["1", "", "한 x", "=2", "3"])
  }

  @Test func `header names have no case`() {
    var headers: Headers = ["ETag": "\"1\"", "X-One": "1"]
    #expect(headers["etag"] == "\"1\"")
    headers["x-ONE"] = "2"
    #expect(headers.all("X-One") == ["2"])
    headers["ETAG"] = nil
    #expect(headers["ETag"] == nil)
  }
}
