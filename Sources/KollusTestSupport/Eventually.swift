/// Waits until a condition outside our reach holds, such as what a server has sent; false at the deadline.
package func eventually(
  within limit: Duration = .seconds(10), _ condition: @Sendable () throws -> Bool
) async rethrows -> Bool {
  let deadline = ContinuousClock.now + limit
  while try !condition() {
    guard .now < deadline, (try? await Task.sleep(for: .milliseconds(2))) != nil else { return false }
  }
  return true
}
