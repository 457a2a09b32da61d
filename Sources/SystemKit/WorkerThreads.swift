import Glibc

/// A few threads that run jobs in the order they were given, for work that blocks or computes.
///
/// Invariant behind `@unchecked Sendable`: `jobs` and `isClosed` are touched only under `mutex`. A
/// `Mutex` cannot be waited on, hence the pthread pair.
@safe package final class WorkerThreads: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var jobs: [@Sendable () -> Void] = []
  private var isClosed = false

  /// Starts `count` threads, which live until `close()`.
  package init(_ count: Int) {
    unsafe pthread_mutex_init(mutex, nil)
    unsafe pthread_cond_init(changed, nil)
    for _ in 0..<count { Thread.start { self.work() } }
  }

  deinit {
    unsafe pthread_cond_destroy(changed)
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
    unsafe changed.deallocate()
  }

  /// Queues a job; after `close()` it runs at once, on the caller's thread.
  package func run(_ job: @escaping @Sendable () -> Void) {
    unsafe pthread_mutex_lock(mutex)
    let isTaken = !isClosed
    if isTaken {
      jobs.append(job)
      unsafe pthread_cond_signal(changed)
    }
    unsafe pthread_mutex_unlock(mutex)
    if !isTaken { job() }
  }

  /// Lets the threads end once the queue is empty.
  package func close() {
    unsafe pthread_mutex_lock(mutex)
    isClosed = true
    unsafe pthread_cond_broadcast(changed)
    unsafe pthread_mutex_unlock(mutex)
  }

  private func work() {
    while let job = next() { job() }
  }

  private func next() -> (@Sendable () -> Void)? {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    while jobs.isEmpty {
      if isClosed { return nil }
      unsafe pthread_cond_wait(changed, mutex)
    }
    return jobs.removeFirst()
  }
}

/// A detached system thread, for loops of a C library and for work that blocks.
package enum Thread {
  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Starts a thread that runs `body` and ends with it.
  package static func start(_ body: @escaping @Sendable () -> Void) {
    let context = unsafe Unmanaged.passRetained(Body(body)).toOpaque()
    var thread = pthread_t()
    let failure = unsafe pthread_create(
      &thread, nil,
      { context in
        guard let context = unsafe context else { return nil }
        unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, context)
    precondition(failure == 0, "pthread_create failed: \(failure)")
    pthread_detach(thread)
  }
}
