import JSONKit
import Testing

/// SplitMix64: the same documents in every run.
private struct FixedGenerator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

struct JSONFuzzTests {
  private let sample = Array(
    #"{"a":[1,-2.5e+3,"x\u00e9\ud83d\ude00é😀\n",true,false,null,{}],"b\"":{"c":[[0]]},"d":-0,"d":1E9}"#.utf8)

  @Test(.timeLimit(.minutes(1)), arguments: 1...4 as ClosedRange<UInt64>)
  func `a changed document is read or refused but never traps`(seed: UInt64) {
    var generator = FixedGenerator(state: seed)
    let interesting =
      Array("{}[]\",:\\/ubfnrt0123456789.eE+-dDcC \n\0".utf8) + [0x80, 0xC2, 0xE2, 0xED, 0xF0, 0xFF]
    var accepted = 0
    for _ in 0..<20_000 {
      var bytes = sample
      for _ in 0...Int.random(in: 0..<4, using: &generator) {
        let position = Int.random(in: 0..<bytes.count, using: &generator)
        let byte = interesting[Int.random(in: 0..<interesting.count, using: &generator)]
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: bytes[position] = byte
        case 1: bytes.insert(byte, at: position)
        case 2: bytes.remove(at: position)
        default: bytes.append(contentsOf: bytes[position...].prefix(8))
        }
      }
      guard let json = try? JSON(parsing: bytes) else { continue }  // Most are refused, as they should be.
      accepted += 1
      visit(json)
    }
    #expect(accepted > 100)
  }

  @Test(arguments: 1...200 as ClosedRange<UInt64>)
  func `what is written reads back and is written the same`(seed: UInt64) throws {
    var generator = FixedGenerator(state: seed)
    var writer = JSONWriter()
    write(to: &writer, depth: 0, using: &generator)
    let json = try JSON(parsing: writer.bytes)
    var copy = JSONWriter()
    rewrite(json, to: &copy)
    #expect(copy.text == writer.text)
    #expect(json.rawText == writer.text)
  }

  /// Touches everything a value can tell.
  private func visit(_ json: JSON) {
    _ = (json.bool, json.integer, json.number, json.string, json.rawText, json.path, json.count)
    _ = try? json.member("d")  // Either outcome will do.
    for element in json.elements { visit(element) }
    for member in json.members { visit(member.value) }
  }

  private func write(to writer: inout JSONWriter, depth: Int, using generator: inout FixedGenerator) {
    switch Int.random(in: 0..<(depth < 5 ? 8 : 5), using: &generator) {
    case 0: writer.null()
    case 1: writer.value(Bool.random(using: &generator))
    case 2: writer.value(Int64(bitPattern: generator.next()))
    case 3: writer.value(Double(bitPattern: generator.next()))
    case 4: writer.value(text(using: &generator))
    case 5:
      writer.beginArray()
      for _ in 0..<Int.random(in: 0..<5, using: &generator) {
        write(to: &writer, depth: depth + 1, using: &generator)
      }
      writer.endArray()
    default:
      writer.beginObject()
      for _ in 0..<Int.random(in: 0..<5, using: &generator) {
        writer.name(text(using: &generator))
        write(to: &writer, depth: depth + 1, using: &generator)
      }
      writer.endObject()
    }
  }

  private func text(using generator: inout FixedGenerator) -> String {
    var scalars = String.UnicodeScalarView()
    for _ in 0..<Int.random(in: 0..<9, using: &generator) {
      let limit: UInt32 = Bool.random(using: &generator) ? 0x80 : 0x11_0000
      if let scalar = Unicode.Scalar(UInt32.random(in: 0..<limit, using: &generator)) {
        scalars.append(scalar)
      }
    }
    return String(scalars)
  }

  private func rewrite(_ json: JSON, to writer: inout JSONWriter) {
    switch json.kind {
    case .null: writer.null()
    case .bool: writer.value(json.bool == true)
    case .integer: writer.member(json.integer)
    case .number: writer.member(json.number)
    case .string: writer.value(json.string ?? "")
    case .array:
      writer.beginArray()
      for element in json.elements { rewrite(element, to: &writer) }
      writer.endArray()
    case .object:
      writer.beginObject()
      for member in json.members {
        writer.name(member.name)
        rewrite(member.value, to: &writer)
      }
      writer.endObject()
    }
  }
}

extension JSONWriter {
  fileprivate mutating func member(_ integer: Int64?) { if let integer { value(integer) } else { null() } }

  fileprivate mutating func member(_ number: Double?) { if let number { value(number) } else { null() } }
}
