import Glibc
import KollusOrigin

@main
struct Entrypoint {
  static func main() async {
    exit(await Origin.run(Array(CommandLine.arguments.dropFirst()), in: .live()))
  }
}
