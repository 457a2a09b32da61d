import TerminalKit
import Testing

@Suite struct ProgressBoardTests {
  static let bars = [
    ProgressBar(
      label: "한글 제목", doneBytes: 1_572_864, totalBytes: 3_145_728, bytesPerSecond: 524_288, note: "retrying"),
    ProgressBar(label: "a", fraction: 1, doneBytes: 10, totalBytes: 10),
    ProgressBar(label: "waiting one", note: "waiting"),
    ProgressBar(label: "no length", doneBytes: 5000, bytesPerSecond: 100),
  ]
  static let board = ProgressBoard(bars: bars, summary: ProgressBoard.sum(bars, label: "1 of 4 done"))

  @Test(arguments: [
    (
      120, 10,
      """
      한글 제목    [===================>                    ]   50%      1.5 MiB / 3.0 MiB  512.0 KiB/s   0:03 left  retrying
      a            [========================================]  100%            10 B / 10 B
      waiting one                                                                                                    waiting
      no length                                                                    4.9 KiB      100 B/s
      1 of 4 done                                                                  1.5 MiB  512.1 KiB/s
      """
    ),
    (
      60, 5,
      """
      한글 제목    [=============>              ]   50%  retrying
      a            [============================]  100%
      waiting one                                        waiting
      no length
      1 of 4 done
      """
    ),
    (
      40, 4,
      """
      한글 제목     50%  retrying
      a            100%
      … and 2 more
      1 of 4 done
      """
    ),
    (40, 2, "… and 4 more\n1 of 4 done                1.5 MiB"),
    (40, 1, "1 of 4 done                1.5 MiB"),
    (40, -3, "1 of 4 done                1.5 MiB"),
    (8, 2, "… and …\n1 of 4…"),
  ])
  func `bars share their columns`(_ width: Int, _ height: Int, _ drawn: String) {
    #expect(Self.board.lines(width: width, height: height).joined(separator: "\n") == drawn)
  }

  @Test func `a sum knows its total only if every part does`() {
    let parts = [
      ProgressBar(label: "a", doneBytes: 1, totalBytes: 4, bytesPerSecond: 2),
      ProgressBar(label: "b", doneBytes: 2, totalBytes: .max, bytesPerSecond: 3),
    ]
    let sum = ProgressBoard.sum(parts, label: "all", note: "n")
    #expect(sum == ProgressBar(label: "all", doneBytes: 3, totalBytes: .max, bytesPerSecond: 5, note: "n"))
    #expect(ProgressBoard.sum(parts + [ProgressBar(label: "c")], label: "all").totalBytes == nil)
    #expect(ProgressBoard.sum([], label: "none") == ProgressBar(label: "none"))
    #expect(ProgressBoard(bars: []).lines(width: 80) == [])
  }
}
