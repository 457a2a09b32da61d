import JSONKit
import Testing

@testable import KollusCore

@Suite struct DRMItemTests {
  private static let player = "3f1c0d6e8a2b4c5d9e0f11223344556677889900"
  private static let start =
    #""client_user_id":"learner-17","player_id":"\#(player)","device_name":"demo/linux-cli","#

  private static func item(_ kind: DRMItem.Kind, _ key: String, _ userValues: String, at time: Int64)
    -> DRMItem
  {
    DRMItem(
      kind: kind, mediaContentKey: key, clientUserID: "learner-17", playerID: player,
      deviceName: "demo/linux-cli", userValues: userValues, localTime: time)
  }

  private func json(_ item: DRMItem) -> String {
    var writer = JSONWriter()
    item.write(to: &writer)
    return writer.text
  }

  @Test(arguments: [DRMItem.Kind.download, .complete])
  func `a download and its completion are written as the protocol has them`(_ kind: DRMItem.Kind) {
    let values = #"{"uservalue0":"course-9","uservalue1":"lesson-2"}"#
    var item = Self.item(kind, "AbCd1234", values, at: 1_767_225_600)
    let expected =
      #"{"kind":\#(kind.rawValue),\#(Self.start)"media_content_key":"AbCd1234","localtime":1767225600,"#
      + #""uservalues":\#(values)}"#
    #expect(json(item) == expected)
    item.startAt = 5
    item.sessionKey = "s"
    item.expirationDate = 7
    (item.isContentExpired, item.isCheckExpired, item.isReset) = (true, true, true)
    #expect(json(item) == expected, "what belongs to kind 3 is not sent")
  }

  @Test func `a bulk renewal is written as the protocol has it`() {
    var first = Self.item(.play, "AbCd1234", #"{"uservalue0":"course-9"}"#, at: 1_767_830_400)
    first.startAt = 1_767_830_400
    first.sessionKey = "s-000041"
    (first.isContentExpired, first.isReset) = (true, true)
    first.expirationDate = 1_767_700_000
    #expect(
      json(first) == #"{"kind":3,\#(Self.start)"media_content_key":"AbCd1234","localtime":1767830400,"#
        + #""start_at":"1767830400","session_key":"s-000041","content_expired":1,"check_expired":0,"#
        + #""reset_req":1,"expiration_date":1767700000,"uservalues":{"uservalue0":"course-9"}}"#)
    var second = Self.item(.play, "EfGh5678", "{}", at: 1_767_830_400)
    second.startAt = 1_767_830_400
    second.sessionKey = "s-000042"
    second.isCheckExpired = true
    #expect(
      json(second) == #"{"kind":3,\#(Self.start)"media_content_key":"EfGh5678","localtime":1767830400,"#
        + #""start_at":"1767830400","session_key":"s-000042","content_expired":0,"check_expired":1,"#
        + #""reset_req":0,"uservalues":{}}"#)
  }

  @Test func `empty texts are not sent, user values always are`() {
    let item = DRMItem(
      kind: .play, mediaContentKey: "k", clientUserID: "", playerID: "", deviceName: "", userValues: "",
      localTime: -1)
    #expect(
      json(item) == #"{"kind":3,"media_content_key":"k","localtime":-1,"start_at":"0","content_expired":0,"#
        + #""check_expired":0,"reset_req":0,"uservalues":{}}"#)
  }

  @Test func `strange texts stay texts`() throws {
    var item = Self.item(.download, "한\"/\\\u{1B}키", #"{"uservalue0":"\"}]"}"#, at: .max)
    item.clientUserID = "a\nb&c=d %"
    let read = try JSON(parsing: json(item))
    #expect(try read.string("media_content_key") == "한\"/\\\u{1B}키")
    #expect(try read.string("client_user_id") == "a\nb&c=d %")
    #expect(try read.object("uservalues")?.string("uservalue0") == "\"}]")
    #expect(try read.integer("localtime") == .max)
  }
}
