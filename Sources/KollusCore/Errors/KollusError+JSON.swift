package import JSONKit

extension KollusError {
  /// Appends `{"code":…,"message":…,"hint":…}`, the form of every `error` member.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("code", code)
    writer.member("message", message.withoutTokens)
    writer.member("hint", hint)
    writer.endObject()
  }
}

extension JSONWriter {
  /// The member `error`: a failure, or `null`.
  package mutating func member(error: KollusError?) {
    name("error")
    if let error { error.write(to: &self) } else { null() }
  }
}
