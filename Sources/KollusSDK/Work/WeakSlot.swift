import Synchronization

/// A weak reference to an object of the application, for use from any thread.
final class WeakSlot: Sendable {
  /// Delegates are not asked to be `Sendable`, as the vendor's are not: they are only called on their queue, where the
  /// application expects them to be, and never touched elsewhere.
  private struct Weak: @unchecked Sendable {
    weak var object: AnyObject?
  }

  private let weak = Mutex(Weak())

  init(_ object: AnyObject? = nil) { self.object = object }

  var object: AnyObject? {
    get { weak.withLock { $0 }.object }
    set {
      let weak = Weak(object: newValue)
      self.weak.withLock { $0 = weak }
    }
  }
}
