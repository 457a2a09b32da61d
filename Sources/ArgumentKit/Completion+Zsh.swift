extension CommandTree {
  var zshCompletion: String {
    """
    #compdef \(tool)
    \(functionName)() {
    \(zshWalk)
    \(zshAnswer)
    }
    if [[ $funcstack[1] == \(functionName) ]]; then
      \(functionName) "$@"
    else
      compdef \(functionName) \(tool)
    fi
    """ + "\n"
  }

  /// Reads the words before the cursor: which command they name, which option still waits for its value.
  private var zshWalk: String {
    let keys = (valued(\.shellQuoted).flatMap(\.patterns) + ["''"]).joined(separator: "|")
    let steps = places.flatMap { place in
      place.steps.map {
        "          (\("\(place.path) \($0.word)".shellQuoted)) place=\($0.path.shellQuoted) ;;"
      }
    }
    return """
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
      """
  }

  /// Offers what may stand at the cursor: a value, an option, a name or a positional.
  private var zshAnswer: String {
    let values = valued(\.shellQuoted).compactMap { entry -> String? in
      guard let action = zshAction(words: entry.option.choices, disk: entry.option.disk) else { return nil }
      return "    (\(entry.patterns.joined(separator: "|"))) \(action); return ;;"
    }
    let options = places.filter { !$0.options.isEmpty }.map {
      "      (\($0.path.shellQuoted)) rows+=(\(zshRows($0.options))) ;;"
    }
    let words = places.compactMap { place -> String? in
      guard let action = zshNames(place) ?? zshAction(words: place.choices, disk: place.disk) else {
        return nil
      }
      return "    (\(place.path.shellQuoted)) \(action) ;;"
    }
    return """
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
      """
  }

  private func zshNames(_ place: CompletionPlace) -> String? {
    guard !place.names.isEmpty else { return nil }
    let rows = place.names.map { "\($0):\(abstract(of: place.full($0)))".shellQuoted }
    return "rows=(\(rows.joined(separator: " "))); _describe command rows"
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
