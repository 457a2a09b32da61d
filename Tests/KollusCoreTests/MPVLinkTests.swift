import Testing

@testable import KollusCore

@Suite struct MPVLinkTests {
  @Test(
    arguments: [
      (#"{"event":"start-file","playlist_entry_id":1}"#, .event(.opening(isOurs: true))),
      (#"{"event":"start-file"}"#, .event(.opening(isOurs: true))),
      (#"{"event":"start-file","playlist_entry_id":2}"#, .event(.opening(isOurs: false))),
      (#"{"event":"file-loaded"}"#, .event(.loaded)),
      (#"{"event":"seek"}"#, .event(.seeking)),
      (#"{"event":"playback-restart"}"#, .event(.settled)),
      (#"{"event":"end-file","reason":"eof","playlist_entry_id":1}"#, .event(.ended(.eof))),
      (#"{"event":"end-file","reason":"quit","playlist_entry_id":1}"#, .event(.ended(.quit))),
      (#"{"event":"end-file","reason":"stop","playlist_entry_id":1}"#, .event(.ended(.stop))),
      (#"{"event":"end-file","reason":"redirect","playlist_entry_id":1}"#, .event(.ended(.stop))),
      (
        #"{"event":"end-file","reason":"error","playlist_entry_id":1,"file_error":"loading failed"}"#,
        .event(.ended(.error("loading failed")))
      ),
      (#"{"event":"end-file","reason":"error"}"#, .event(.ended(.error("unknown error")))),
      (#"{"event":"end-file","reason":"eof","playlist_entry_id":2}"#, .none),
      (#"{"event":"property-change","id":1,"name":"time-pos","data":1.5}"#, .event(.position(1.5))),
      (#"{"event":"property-change","id":1,"name":"time-pos"}"#, .event(.position(nil))),
      (#"{"event":"property-change","id":1,"name":"time-pos","data":null}"#, .event(.position(nil))),
      (#"{"event":"property-change","id":2,"name":"duration","data":60}"#, .event(.duration(60))),
      (#"{"event":"property-change","id":3,"name":"speed","data":2.000000}"#, .event(.speed(2))),
      (#"{"event":"property-change","id":4,"name":"pause","data":true}"#, .event(.pause(true))),
      (#"{"event":"property-change","id":5,"name":"core-idle","data":false}"#, .event(.idle(false))),
      (
        #"{"event":"property-change","id":6,"name":"paused-for-cache","data":true}"#, .event(.buffering(true))
      ),
      (#"{"event":"property-change","id":6,"name":"paused-for-cache"}"#, .none),
      (#"{"event":"log-message","prefix":"a","level":"error","text":"no good\n"}"#, .complaint("no good\n")),
      // What does not belong here, or will come with a later version.
      (#"{"event":"property-change","id":1,"name":"time-pos","data":"1.5"}"#, .none),
      (#"{"event":"property-change","id":1,"name":"time-pos","data":1e999}"#, .none),
      (#"{"event":"property-change","id":9,"name":"volume","data":1}"#, .none),
      (#"{"event":"start-file","playlist_entry_id":"1"}"#, .none),
      (#"{"event":"idle"}"#, .none), (#"{"event":7}"#, .none), (#"{"request_id":99,"error":"bad"}"#, .none),
      ("{}", .none), ("[]", .none), ("7", .none), ("", .none), ("nonsense", .none),
      ("{\"event\":\"seek\"", .none),
    ] as [(String, MPVLink.Message)])
  func `a line becomes an event`(_ line: String, _ message: MPVLink.Message) {
    var link = MPVLink()
    #expect(link.read(line.utf8) == message)
  }

  @Test func `replies are told only when they are bad`() {
    var link = MPVLink()
    #expect(
      link.line("seek", 5.5, "absolute+exact")
        == #"{"command":["seek",5.5,"absolute+exact"],"request_id":1}"# + "\n")
    #expect(
      link.set("pause", .flag(true)) == #"{"command":["set_property","pause",true],"request_id":2}"# + "\n")
    #expect(
      link.line("loadfile", "http://x/\"") == #"{"command":["loadfile","http://x/\""],"request_id":3}"# + "\n"
    )
    #expect(link.read(#"{"request_id":2,"error":"success","data":null}"#.utf8) == .none)
    #expect(
      link.read(#"{"request_id":1,"error":"error running command"}"#.utf8)
        == .complaint("seek: error running command"))
    #expect(link.read(#"{"request_id":1,"error":"error running command"}"#.utf8) == .none, "told once")
    #expect(
      link.read(#"{"request_id":3,"error":"invalid parameter"}"#.utf8)
        == .event(.ended(.error("invalid parameter"))))
  }

  @Test func `the file is loaded last, after all that is to be known of it`() throws {
    var playback = Playback(url: "http://127.0.0.1:1/secret", title: "Unit \"1\"")
    (playback.start, playback.speed) = (12.0004, 2)
    playback.policy.section = 10...30.5
    var link = MPVLink()
    let lines = link.opening(playback).map { $0.dropFirst(#"{"command":"#.count).prefix { $0 != "]" } + "]" }
    #expect(lines.first == #"["request_log_messages","error"]"#)
    #expect(
      lines.dropFirst().prefix(6).map { String($0) }
        == MPVLink.properties.enumerated().map {
          #"["observe_property",\#($0.offset + 1),"\#($0.element)"]"#
        })
    #expect(
      lines.dropFirst(7).map { String($0) } == [
        #"["set_property","force-media-title","Unit \"1\""]"#, #"["set_property","start","12.000"]"#,
        #"["set_property","end","30.500"]"#, #"["set_property","speed",2.0]"#,
        #"["loadfile","http://127.0.0.1:1/secret"]"#,
      ])
    playback.policy.allowsSpeed = false
    #expect(!link.opening(playback).contains { $0.contains(#""speed",2"#) })
  }

  @Test(
    arguments: [
      (0.0004, nil), (0.001, "0.001"), (1e-7, nil), (59.9996, "59.999"), (1e300, "1000000000.000"),
      (3_600, "3600.000"),
    ] as [(Double, String?)])
  func `a start is written as mpv reads it`(_ start: Double, _ text: String?) {
    var playback = Playback(url: "x", title: "")
    playback.start = start
    var link = MPVLink()
    let line = link.opening(playback).first { $0.contains(#""start""#) }
    #expect(line?.contains("\"\(text ?? "0.000")\"") ?? (text == nil))
  }

  @Test func `complaints are few, short and keep the secret`() {
    var complaints = Complaints(hiding: "http://127.0.0.1:81/s3cret/v.mp4")
    complaints.add("Failed to open http://127.0.0.1:81/s3cret/v.mp4.\n")
    complaints.add("GET /s3cret/v.mp4: 404\r\n")
    complaints.add("  \n")
    #expect(complaints.lines == ["Failed to open ….", "GET /…: 404"])
    for number in 0..<60 { complaints.add("\(number) " + String(repeating: "x", count: 1_000)) }
    #expect(complaints.lines.count == 50)
    #expect(complaints.lines.last?.hasPrefix("59 x") == true && complaints.lines.last?.count == 500)
  }

  @Test(
    arguments: [
      ("vlc", ["vlc", "U"]), ("vlc {url}", ["vlc", "U"]),
      ("  vlc\t--fullscreen \n", ["vlc", "--fullscreen", "U"]),
      ("a --u={url} --quit", ["a", "--u=U", "--quit"]), ("a '{url}' x{url}y", ["a", "U", "xUy"]),
      ("'/opt/my player/p' \"a b\" c\\ d", ["/opt/my player/p", "a b", "c d", "U"]),
      ("a \"it's\" 'say \"x\"' \"q\\\"q\\\\ \\n\"", ["a", "it's", "say \"x\"", "q\"q\\ \\n", "U"]),
      ("a '' \"\" b''c", ["a", "", "", "bc", "U"]), ("a $HOME `x` *;|&", ["a", "$HOME", "`x`", "*;|&", "U"]),
      ("a 'b\\'", ["a", "b\\", "U"]), ("재생기 \"가 나\"", ["재생기", "가 나", "U"]),
    ] as [(String, [String])])
  func `a command is split as a shell does it`(_ text: String, _ words: [String]) throws {
    #expect(CommandWords.filled(try CommandWords.split(text), url: "U") == words)
  }

  @Test(arguments: ["", "  ", "a 'b", "a \"b", "a \"b\\\"", "a\\", "''", "'' a"])
  func `a command that cannot be split is refused`(_ text: String) {
    #expect { try PlayerChoice(text) } throws: { error in
      (error as? KollusError)?.kind == .configuration
    }
  }

  @Test func `mpv is the choice when nothing or mpv is named`() throws {
    #expect(try PlayerChoice(nil) == .mpv && PlayerChoice("mpv") == .mpv)
    #expect(try PlayerChoice("vlc -f") == .command(["vlc", "-f"]))
    #expect(try PlayerChoice(nil).isFollowed && !PlayerChoice("vlc").isFollowed)
  }
}
