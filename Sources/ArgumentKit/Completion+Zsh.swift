extension CommandTree {
  var zshCompletion: String {
    let places = places
    let steps = places.flatMap { place in
      place.steps.map {
        "          (\("\(place.path) \($0.word)".shellQuoted)) place=\($0.path.shellQuoted) ;;"
      }
    }
    let valued = valued(\.shellQuoted)
    let keys = (valued.flatMap(\.patterns) + ["''"]).joined(separator: "|")
    let values = valued.compactMap { entry -> String? in
      guard let action = zshAction(words: entry.option.choices, disk: entry.option.disk) else { return nil }
      return "    (\(entry.patterns.joined(separator: "|"))) \(action); return ;;"
    }
    let options = places.filter { !$0.options.isEmpty }.map {
      "      (\($0.path.shellQuoted)) rows+=(\(zshRows($0.options))) ;;"
    }
    let words = places.compactMap { place -> String? in
      if !place.names.isEmpty {
        let rows = place.names.map { "\($0):\(abstract(of: place.full($0)))".shellQuoted }
        return
          "    (\(place.path.shellQuoted)) rows=(\(rows.joined(separator: " "))); _describe command rows ;;"
      }
      guard let action = zshAction(words: place.choices, disk: place.disk) else { return nil }
      return "    (\(place.path.shellQuoted)) \(action) ;;"
    }
    return """
      #compdef \(tool)
      \(functionName)() {
        local place="" pending="" word
        local -a rows
        integer i
        for ((i = 2; i < CURRENT; i++)); do
          word="${words[i]}"
          if [[ -n $pending ]]; then
            pending=""
            continue
          fi
          case "$place/$word" in
            (\(keys)) pending="$place/$word" ;;
            (*/-*) ;;
            (*)
              case "$place $word" in
      \(steps.joined(separator: "\n"))
              esac
              ;;
          esac
        done
        if [[ -z $pending && $PREFIX == --*=* ]]; then
          pending="$place/${PREFIX%%=*}"
          compset -P '*='
        fi
        case "$pending" in
      \(values.joined(separator: "\n"))
          (?*) return ;;
        esac
        if [[ $PREFIX == -* ]]; then
          rows=(\(zshRows(common)))
          case "$place" in
      \(options.joined(separator: "\n"))
          esac
          _describe -o option rows
          return
        fi
        case "$place" in
      \(words.joined(separator: "\n"))
        esac
      }
      if [[ $funcstack[1] == \(functionName) ]]; then
        \(functionName) "$@"
      else
        compdef \(functionName) \(tool)
      fi
      """ + "\n"
  }

  private func zshRows(_ options: [Declaration]) -> String {
    options.flatMap { option in option.spellings.map { "\($0):\(option.help)".shellQuoted } }
      .joined(separator: " ")
  }

  private func zshAction(words: [String], disk: DiskCompletion?) -> String? {
    if !words.isEmpty { return "compadd -- \(words.map(\.shellQuoted).joined(separator: " "))" }
    return switch disk {
    case .file: "_files"
    case .directory: "_files -/"
    case nil: nil
    }
  }
}
