import TerminalKit
import Testing

@Suite struct ProgressBarTests {
  static let bar = ProgressBar(
    label: "한글 제목", doneBytes: 1_572_864, totalBytes: 3_145_728, bytesPerSecond: 524_288, note: "retrying")

  @Test(arguments: [
    (96, "한글 제목  [========>         ]   50%      1.5 MiB / 3.0 MiB  512.0 KiB/s   0:03 left  retrying"),
    (80, "한글 제목  [======>        ]   50%      1.5 MiB / 3.0 MiB   0:03 left  retrying"),
    (70, "한글 제목  [=======>         ]   50%      1.5 MiB / 3.0 MiB  retrying"),
    (60, "한글 제목  [==============>               ]   50%  retrying"),
    (40, "한글 제목  [====>     ]   50%  retrying"), (30, "한글 제목   50%  retrying"), (24, "한글 제목   50%"),
    (12, "한글…   50%"), (8, "…   50%"), (5, "50%"), (4, "50%"), (3, "5…"), (2, "…"), (1, ""), (0, ""),
    (-1, ""),
  ])
  func `detail is dropped step by step`(_ width: Int, _ line: String) {
    #expect(Self.bar.line(width: width) == line)
  }

  @Test(arguments: [
    (ProgressBar(label: ""), ""),
    (ProgressBar(label: "a", note: "waiting"), "a  waiting"),
    (ProgressBar(label: "a", fraction: 0), "a  [                                        ]    0%"),
    (ProgressBar(label: "a", fraction: 0.02), "a  [                                        ]    2%"),
    (ProgressBar(label: "a", fraction: 0.999_99), "a  [======================================> ]   99%"),
    (ProgressBar(label: "a", fraction: 1), "a  [========================================]  100%"),
    (ProgressBar(label: "a", fraction: .nan), "a  [                                        ]    0%"),
    (ProgressBar(label: "a", doneBytes: 2048, bytesPerSecond: 1), "a                2.0 KiB        1 B/s"),
    (ProgressBar(label: "a\n\u{1b}", note: "\u{9b}"), "a\\n\\u{1b}  \\u{9b}"),
    (
      ProgressBar(label: "a", doneBytes: .max - 1, totalBytes: .max, bytesPerSecond: .infinity),
      "a  [======================================> ]   99%      8.0 EiB / 8.0 EiB"
    ),
  ])
  func `every state has its line`(_ bar: ProgressBar, _ line: String) {
    #expect(bar.line(width: 90).replacing("===", with: "=") == line.replacing("===", with: "="))
  }

  @Test func `sizes from outside never trap`() {
    let sizes: [Int64?] = [nil, .min, -1, 0, 1, .max]
    for total in sizes {
      for done in sizes.compactMap({ $0 }) {
        for rate in [nil, -1, 0, 1e-300, 1, 1e300, .nan, .infinity, -.infinity] as [Double?] {
          let bar = ProgressBar(label: "x", doneBytes: done, totalBytes: total, bytesPerSecond: rate)
          let board = ProgressBoard(bars: [bar, bar], summary: ProgressBoard.sum([bar, bar], label: "y"))
          for line in board.lines(width: 100) { #expect(line.displayWidth < 100) }
        }
      }
    }
  }

  @Test func `no line reaches the edge of the window`() {
    let label = "아주 긴 제목 with words 👨‍👩‍👧‍👦 그리고 끝없이 이어지는 이름"
    for width in 0...200 {
      let bar = ProgressBar(
        label: label, doneBytes: 1_073_741_823, totalBytes: 1_073_741_824, bytesPerSecond: 1000.5, note: "대기")
      #expect(bar.line(width: width).displayWidth <= max(width - 1, 0))
      #expect(!bar.line(width: width).contains("100%"))
    }
  }
}
