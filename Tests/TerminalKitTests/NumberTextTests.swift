import TerminalKit
import Testing

@Suite struct NumberTextTests {
  @Test(
    arguments: [
      (0, "0 B"), (1, "1 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1075, "1.0 KiB"), (1076, "1.1 KiB"),
      (1536, "1.5 KiB"), (10_240, "10.0 KiB"), (1_048_524, "1023.9 KiB"), (1_048_525, "1.0 MiB"),
      (1_048_576, "1.0 MiB"), (1 << 30, "1.0 GiB"), ((1 << 30) - 1, "1.0 GiB"), (1 << 40, "1.0 TiB"),
      (1 << 50, "1.0 PiB"), (1 << 60, "1.0 EiB"), ((1 << 60) - 1, "1.0 EiB"), (.max, "16.0 EiB"),
      (UInt64(Int64.max), "8.0 EiB"), (3 << 59, "1.5 EiB"),
    ] as [(UInt64, String)])
  func `sizes are rounded to a tenth of their unit`(_ bytes: UInt64, _ text: String) {
    #expect(ByteCountText(bytes).description == text)
  }

  @Test func `a size below zero counts as none`() {
    #expect("\(ByteCountText(-5)) \(ByteCountText(Int64.min))" == "0 B 0 B")
  }

  @Test(
    arguments: [
      (0, "0:00"), (7, "0:07"), (59, "0:59"), (60, "1:00"), (65, "1:05"), (3599, "59:59"), (3600, "1:00:00"),
      (7384, "2:03:04"), (86_399, "23:59:59"), (86_400, "1 d"), (273_600, "3 d 4 h"), (-1, "0:00"),
      (.max, "106751991167300 d 15 h"),
    ] as [(Int64, String)])
  func `durations read as on a clock`(_ seconds: Int64, _ text: String) {
    #expect(DurationText(seconds: seconds).description == text)
    #expect(DurationText(.seconds(seconds)).description == text)
  }

  @Test(arguments: [
    (0, "0%"), (0.001, "0%"), (0.01, "1%"), (0.29, "29%"), (0.57, "57%"), (0.5, "50%"), (0.994, "99%"),
    (0.999999999999, "99%"), (1, "100%"), (1.5, "100%"), (-0.5, "0%"), (.nan, "0%"), (.infinity, "100%"),
    (-.infinity, "0%"),
  ])
  func `all is never claimed before it is done`(_ fraction: Double, _ text: String) {
    #expect(PercentText(fraction).description == text)
  }

  @Test func `every whole percent is shown as itself`() {
    for percent in 0...100 { #expect(PercentText(Double(percent) / 100).percent == percent) }
  }
}
