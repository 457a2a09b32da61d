extension CommandTree {
  var fishCompletion: String {
    let shared = common.map { "complete -c \(tool) \(fishOption($0))" }
    let rows = places.flatMap { place in
      let start = "complete -c \(tool) -n \("\(functionName)_at \(place.path.fishQuoted)".fishQuoted)"
      let names = place.names.map { name in
        "\(start) -a \(name.fishQuoted) -d \(abstract(of: place.full(name)).fishQuoted)"
      }
      let words = fishAction(words: place.choices, disk: place.disk).map { ["\(start) \($0)"] } ?? []
      let options = place.options.map { "\(start) \(fishOption($0))" }
      return names + words + options
    }
    return """
      # fish completion for \(tool)
      \(fishWalk)
      complete -c \(tool) -f
      \((shared + rows).joined(separator: "\n"))
      """ + "\n"
  }

  /// A function that tells whether the words before the cursor name a certain command.
  private var fishWalk: String {
    // Fish would look for files behind a star outside the quotes; `case` reads it inside them as well.
    let keys = (valued { $0 }.flatMap(\.patterns) + [""]).map(\.fishQuoted).joined(separator: " ")
    let steps = places.flatMap { place in
      place.steps.flatMap {
        [
          "          case \("\(place.path) \($0.word)".fishQuoted)",
          "            set place \($0.path.fishQuoted)",
        ]
      }
    }
    return """
      function \(functionName)_at
        set -l place ''
        set -l pending ''
        set -l words (commandline -opc)
        set -e words[1]
        for word in $words
          if test -n "$pending"
            set pending ''
            continue
          end
          switch "$place/$word"
            case \(keys)
              set pending 1
            case '*/-*'
            case '*'
              switch "$place $word"
      \(steps.joined(separator: "\n"))
              end
          end
        end
        test "$place" = "$argv[1]"
      end
      """
  }

  private func fishOption(_ option: Declaration) -> String {
    var words = ["-l", option.name] + (option.short.map { ["-s", String($0)] } ?? [])
    if option.kind == .option {
      words.append("-r")
      words.append(fishAction(words: option.choices, disk: option.disk) ?? "-f")
    }
    return (words + ["-d", option.help.fishQuoted]).joined(separator: " ")
  }

  private func fishAction(words: [String], disk: DiskCompletion?) -> String? {
    if !words.isEmpty { return "-f -a \(words.joined(separator: " ").fishQuoted)" }
    return switch disk {
    case .file: "-F"
    case .directory: "-f -a '(__fish_complete_directories)'"
    case nil: nil
    }
  }
}

extension String {
  /// As one word of fish, where a backslash escapes inside single quotes.
  fileprivate var fishQuoted: String {
    "'" + map { $0 == "'" || $0 == "\\" ? "\\\($0)" : String($0) }.joined() + "'"
  }
}
