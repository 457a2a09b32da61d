extension Policy {
  /// A policy with sensible limits, ready to be edited.
  static let example = #"""
    {
      "default": {
        "kind1": {
          "result": 1, "@expiration_date": "30d", "expiration_count": 20, "expiration_playtime": 14400,
          "expiration_refresh_popup": 0, "check_abuse": 0
        },
        "kind2": {"result": 1},
        "kind3": {
          "result": 1, "@reset": "asked",
          "@expiration_date": "30d", "expiration_count": 20, "expiration_playtime": 14400
        }
      },
      "contents": {
        "example-refused": {"kind1": {"result": 0, "message": "The course has ended."}},
        "example-removed": {"kind3": {"result": 1, "content_delete": 1, "message": "Removed by the school."}},
        "example-recovers": {
          "kind3": [{"@status": 503, "@retryAfter": 1}, {"result": 1, "@expiration_date": "7d"}]
        }
      }
    }
    """#

  /// What a policy file may say, for the help of `serve`.
  static let help = """
    POST /drm is the DRM callback; it needs --keys. The policy file says what it answers, and is read again \
    when it changes. 'kollus-origin policy' prints an example, which holds for whatever a file leaves out.

    "contents" holds rules by media content key, "default" those for the rest; "customKey" names the key \
    that signs where --keys holds several. Rules are entries for "kind1", "kind2" and "kind3": an object, or \
    an array of objects that successive requests for the same key get in turn, the last one again and again. \
    Members of an entry are sent as they are, right or wrong, kind 3's session_key and start_at as the \
    request had them; those that begin with @ are controls:

      @expiration_date, @check_expiration_date  so far from now: "30d", "-1h"
      @reset        content_expire_reset 1 when "asked" (the default: content_expired or reset_req
                    is 1), "always" or "never"
      @omit         names of members to leave out
      @times        how often the entry is sent: 0 leaves it out
      @extra        array of entries to send besides

    and for the whole response, when any of its items has it (the first of several):

      @status, @retryAfter, @location, @delay   503, 30, "/elsewhere", "2s"
      @date         the Date header is so far off: "-20m"
      @drop         true: the connection is closed without an answer
      @body, @contentType  other text than the token, "" for none, "text/html"
      @size         the body is filled up with spaces to so many bytes: "64M"
      @cut          the connection breaks after so many bytes of the body
      @stall        so long nothing comes after half of the body
      @customKey    what X-Kollus-UserKey says; null leaves it out
      @sign         "none" or "wrongKey"
      @payload      text to sign in place of the answers: "no JSON", "{}"
      @bare         true: data is an object, not an array

    Times are 30s, 10m, 72h, 7d or a number of seconds. An example:

      {"contents": {"unit-1": {
        "kind1": {"result": 1, "@expiration_date": "7d", "expiration_count": 3},
        "kind3": [{"@status": 503, "@retryAfter": 5}, {"result": 1, "content_expired": 1}]}}}

    POST /lms, and any path below it, takes a viewing report: the field json_data (or data) of a form, a JSON \
    body or the query. --lms keeps the reports. "lms" in the policy file says what they get: an entry, or an \
    array of entries that successive reports get in turn, at the top for all contents together, or in \
    "contents" for one. Its members are @status, @retryAfter, @location, @delay, @date, @drop, @body, \
    @contentType, @size, @cut and @stall from above, and

      @store        whether the report is kept; without it, if the answer is 2xx and not dropped

    Here the first report is refused, the answer to the second is lost, and all after it are taken:

      {"lms": [{"@status": 503, "@retryAfter": 5}, {"@drop": true, "@store": true}, {}],
       "contents": {"unit-1": {"lms": {"@status": 400}}}}
    """
}
