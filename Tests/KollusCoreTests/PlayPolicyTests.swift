import JSONKit
import Testing

@testable import KollusCore

@Suite struct PlayPolicyTests {
  static func policy(_ text: String) throws -> PlayPolicy { try PlayPolicy(JSON(parsing: text)) }

  @Test func `what is absent is allowed`() throws {
    #expect(try PlayPolicy(nil) == PlayPolicy())
    #expect(try Self.policy("{}") == PlayPolicy())
    #expect(
      try Self.policy(#"{"seek":true,"seekableEnd":-1,"disablePlayrate":false,"playSection":null,"x":1}"#)
        == PlayPolicy())
  }

  @Test func `the members are read`() throws {
    let policy = try Self.policy(
      #"{"seek":false,"seekableEnd":20,"disablePlayrate":true,"playSection":[0,30.5]}"#)
    #expect(
      !policy.isSeekable && policy.seekableEnd == 20 && !policy.allowsSpeed && policy.section == 0...30.5)
  }

  @Test(arguments: [
    #"{"seek":1}"#, #"{"seekableEnd":"20"}"#, #"{"disablePlayrate":"x"}"#, #"{"playSection":30}"#,
    #"{"playSection":[30]}"#, #"{"playSection":[0,1,2]}"#, #"{"playSection":["0",1]}"#,
    #"{"playSection":[-1,1]}"#,
    #"{"playSection":[5,5]}"#, #"{"playSection":[5,4]}"#, #"{"playSection":[0,1e10]}"#, "[]",
  ])
  func `a wrong type is an error`(_ text: String) {
    #expect(throws: JSONError.self) { try Self.policy(text) }
  }

  @Test(
    arguments: [
      ("{}", 50, 5, nil), ("{}", -3, 5, 0),
      (#"{"seek":false}"#, 50, 5, 5), (#"{"seek":false}"#, 0, 5, 5), (#"{"seek":false}"#, 5.05, 5, nil),
      (#"{"seek":false,"seekableEnd":20}"#, 15, 5, nil), (#"{"seek":false,"seekableEnd":20}"#, 20, 5, nil),
      (#"{"seek":false,"seekableEnd":20}"#, 21, 5, 5), (#"{"seek":false,"seekableEnd":20}"#, 3, 50, nil),
      (#"{"seek":false,"seekableEnd":0}"#, 0, 50, nil), (#"{"seek":true,"seekableEnd":20}"#, 50, 5, nil),
      (#"{"playSection":[10,30]}"#, 20, 15, nil), (#"{"playSection":[10,30]}"#, 5, 15, 10),
      (#"{"playSection":[10,30]}"#, 50, 15, 30), (#"{"seek":false,"playSection":[10,30]}"#, 50, 15, 15),
    ] as [(String, Double, Double, Double?)])
  func `a seek is allowed or put right`(_ text: String, _ aim: Double, _ current: Double, _ target: Double?)
    throws
  {
    #expect(try Self.policy(text).correction(ofSeekTo: aim, from: current) == target)
  }

  @Test(
    arguments: [
      ("{}", nil, 0, 0), ("{}", nil, 40, 40), ("{}", 7, 40, 7), (#"{"seek":false}"#, 7, 40, 40),
      (#"{"seek":false,"seekableEnd":10}"#, 7, 40, 7), (#"{"playSection":[10,30]}"#, nil, 0, 10),
      (#"{"playSection":[10,30]}"#, 50, 0, 30), (#"{"playSection":[10,30]}"#, nil, 40, 30),
    ] as [(String, Double?, Double, Double)])
  func `playing begins where it may`(
    _ text: String, _ wanted: Double?, _ resumed: Double, _ start: Double
  ) throws {
    #expect(try Self.policy(text).start(wanted: wanted, resumed: resumed) == start)
  }

  /// Feeds events and gathers the corrections.
  static func corrections(
    _ text: String, start: Double = 0, _ events: [PlayerEvent]
  ) throws -> [PolicyWatch.Correction] {
    var watch = PolicyWatch(try policy(text), start: start)
    return (Self.opened + events).compactMap { watch.take($0) }
  }

  static let opened: [PlayerEvent] = [
    .position(nil), .speed(1), .opening(isOurs: true), .loaded, .position(0), .settled, .position(0.04),
    .position(5),
  ]

  @Test func `speed is put back at once`() throws {
    let events: [PlayerEvent] = [.speed(2), .speed(1), .speed(0.5)]
    #expect(try Self.corrections(#"{"disablePlayrate":true}"#, events) == [.speed(1), .speed(1)])
    #expect(try Self.corrections("{}", events) == [])
  }

  @Test func `a forbidden seek is undone once, whatever comes before the correction holds`() throws {
    let events: [PlayerEvent] = [
      .seeking, .position(50), .position(55), .settled, .position(50.04), .position(50.08),
      // The correction.
      .seeking, .position(5), .settled, .position(5.16), .position(5.3), .position(9),
      // The next one, aim and landing in one.
      .seeking, .settled, .position(70), .position(70.04), .seeking, .position(9), .settled, .position(9.04),
    ]
    #expect(try Self.corrections(#"{"seek":false}"#, events) == [.seek(5), .seek(9)])
    #expect(try Self.corrections("{}", events) == [])
  }

  @Test func `a second forbidden seek before the correction is undone as well`() throws {
    let events: [PlayerEvent] = [
      .seeking, .position(50), .seeking, .position(80), .settled, .position(80.04), .seeking, .position(5),
      .settled,
      .position(5.04), .seeking, .position(5.04), .settled,
    ]
    #expect(try Self.corrections(#"{"seek":false}"#, events) == [.seek(5), .seek(5)])
  }

  @Test func `an allowed seek may land and play on beside its aim, fast too`() throws {
    let events: [PlayerEvent] = [
      .speed(4), .seeking, .position(20), .settled, .position(20.6), .position(22), .position(90), .seeking,
      .position(2), .settled, .position(3),
    ]
    #expect(try Self.corrections(#"{"seek":false,"seekableEnd":20}"#, events) == [])
  }

  @Test func `a section is not left at its start`() throws {
    let events: [PlayerEvent] = [.position(15), .seeking, .position(2), .seeking, .position(10), .settled]
    #expect(try Self.corrections(#"{"playSection":[10,30]}"#, start: 10, events) == [.seek(10)])
  }

  @Test func `another file is not judged`() throws {
    let events: [PlayerEvent] = [.ended(.stop), .opening(isOurs: false), .seeking, .position(50), .settled]
    #expect(try Self.corrections(#"{"seek":false}"#, events) == [])
  }
}
