import ArgumentKit

/// `policy`: prints a policy to begin with.
enum PolicyCommand {
  static let spec = CommandSpec(
    "policy", "Print an example policy for the DRM callback as JSON.",
    discussion:
      "It is in force where 'serve' has no --policy. 'kollus-origin help serve' tells what it may say.",
    inputs: [], examples: ["kollus-origin policy > policy.json"])

  static func run(in context: Context) { context.output(Policy.example) }
}
