/// A system call that failed, by its `errno`.
package struct SystemError: Error {
  package let number: Int32

  package init(number: Int32) { self.number = number }
}
