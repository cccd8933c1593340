// Redaction: takes the bearer token out of what a server sends, before any of it is kept or shown. A server, or a proxy before it, may
// repeat the Authorization header in an answer.
#pragma once

#include <string>
#include <string_view>

namespace deepgap {

// Puts "[redacted]" in the place of the token and of pieces of it, also where they are written with escapes (JSON and C, percent, HTML,
// quoted-printable, several on top of each other), in full-width forms, broken over lines, backwards, in hexadecimal digits, as a list of
// character codes, or within base32 or base64, as that of user:password. A token of fewer than 6 characters is replaced where it stands as
// a word of its own. Without a token the text comes back as it is. What a server compresses, encrypts or otherwise rewrites is not found:
// docs/reference/security.md says so.
std::string without_token(std::string_view text, std::string_view token);

}  // namespace deepgap
