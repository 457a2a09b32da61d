extension CommandTree {
  var bashCompletion: String {
    """
    # bash completion for \(tool)
    \(functionName)_words() {
      mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
    }
    \(functionName)_disk() {
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
    }
    \(functionName)() {
    \(bashWalk)
    \(bashAnswer)
    }
    complete -F \(functionName) \(tool)
    """ + "\n"
  }

  /// Reads the words before the cursor: which command they name, which option still waits for its value.
  private var bashWalk: String {
    let keys = (valued(\.shellQuoted).flatMap(\.patterns) + ["''"]).joined(separator: " | ")
    let steps = places.flatMap { place in
      place.steps.map {
        "          \("\(place.path) \($0.word)".shellQuoted)) place=\($0.path.shellQuoted) ;;"
      }
    }
    return """
        local cur="${COMP_WORDS[COMP_CWORD]}" place="" pending="" word words i
        COMPREPLY=()
        for ((i = 1; i < COMP_CWORD; i++)); do
          word="${COMP_WORDS[i]}"
          # bash cuts --name=value into three words.
          if [[ $word == "=" ]]; then
            continue
          elif [[ -n $pending ]]; then
            pending=""
            continue
          fi
          case "$place/$word" in
            \(keys)) pending="$place/$word" ;;
            */-*) ;;
            *)
              case "$place $word" in
      \(steps.joined(separator: "\n"))
              esac
              ;;
          esac
        done
        if [[ $cur == "=" ]]; then cur=""; fi
      """
  }

  /// Offers what may stand at the cursor: a value, an option, a name or a positional.
  private var bashAnswer: String {
    let values = valued(\.shellQuoted).compactMap { entry -> String? in
      guard let action = bashAction(words: entry.option.choices, disk: entry.option.disk) else { return nil }
      return "    \(entry.patterns.joined(separator: " | "))) \(action); return ;;"
    }
    let options = places.filter { !$0.options.isEmpty }.map { place in
      let words = place.options.flatMap(\.spellings).joined(separator: " ")
      return "      \(place.path.shellQuoted)) words+=\(" \(words)".shellQuoted) ;;"
    }
    let words = places.compactMap { place -> String? in
      guard let action = bashAction(words: place.names + place.choices, disk: place.disk) else { return nil }
      return "    \(place.path.shellQuoted)) \(action) ;;"
    }
    return """
        case "$pending" in
      \(values.joined(separator: "\n"))
          ?*) return ;;
        esac
        if [[ $cur == -* ]]; then
          words=\(common.flatMap(\.spellings).joined(separator: " ").shellQuoted)
          case "$place" in
      \(options.joined(separator: "\n"))
          esac
          \(functionName)_words "$words"
          return
        fi
        case "$place" in
      \(words.joined(separator: "\n"))
        esac
      """
  }

  private func bashAction(words: [String], disk: DiskCompletion?) -> String? {
    if !words.isEmpty {
      return "\(functionName)_words \(words.joined(separator: " ").shellQuoted)"
    }
    return switch disk {
    case .file: "\(functionName)_disk -f"
    case .directory: "\(functionName)_disk -d"
    case nil: nil
    }
  }
}
