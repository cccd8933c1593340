#include "backends/http/redaction.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace deepgap {
namespace {

const std::string token = R"(s3cret"wo\rd/with%41&=)";

TEST(Redaction, leaves_text_without_the_token_as_it_is) {
  for (const char* text :
       {"", "answered 503: overloaded", R"({"error":"no model \"double\""})", "100 % of \xc3\xa4 \\", "%", "&#", "\\u12"})
    EXPECT_EQ(without_token(text, "s3cret-word"), text);
  EXPECT_EQ(without_token("Bearer s3cret-word", ""), "Bearer s3cret-word");
}

TEST(Redaction, replaces_the_token_and_keeps_the_rest) {
  EXPECT_EQ(without_token("no entry with 'Bearer s3cret-word', sorry", "s3cret-word"), "no entry with 'Bearer [redacted]', sorry");
  EXPECT_EQ(without_token("S3CRET-WORDs3cret-word", "s3cret-word"), "[redacted]");
}

TEST(Redaction, sees_through_escapes) {
  const std::vector<std::string> written{
      token,                                            // as it is
      R"(s3cret\"wo\\rd\/with%41&=)",                   // JSON
      R"(\u00733cret\u0022wo\u005crd/with%41\u0026=)",  // JSON by numbers
      "s3cret%22wo%5Crd%2fwith%2541%26%3D",             // percent
      "s3cret&quot;wo\\rd/with%41&amp;=",               // HTML
      "s3cret&#34;wo&#x5c;rd/with%41&#38;=",            // HTML by numbers
      R"(s3cret\\\"wo\\\\rd\\/with%41&=)",              // JSON in JSON
      "s3cret\"wo\\rd\r\n /with%41&=",                  // broken over lines
      R"(s3cret\042wo\134rd/with\04541&=)",             // C, octal digits
      R"(\u{73}3cret\u{22}wo\u{00005c}rd/with%41&=)",   // JavaScript, Rust
      "%u00733cret%u0022wo%u005Crd/with%2541%26=",      // escape() of JavaScript
      "s3cret\"wo\\rd/with%41&=3D",                     // quoted-printable
  };
  for (const std::string& text : written) EXPECT_EQ(without_token("a " + text + " b", token), "a [redacted] b") << text;
}

TEST(Redaction, finds_the_token_in_base64_and_hexadecimal_digits) {
  const auto hidden = [](const std::string& text, const std::string& secret) {
    const std::string shown = without_token(text, secret);
    return shown.find("[redacted]") != std::string::npos && shown.find(text) == std::string::npos ? shown : "";
  };
  // bob:s3cret-word, alice:s3cret-word, x:s3cret-word: each alignment.
  EXPECT_EQ(hidden("Basic Ym9iOnMzY3JldC13b3Jk!", "s3cret-word"), "Basic Ym9iO[redacted]!");
  EXPECT_NE(hidden("Basic YWxpY2U6czNjcmV0LXdvcmQ=", "s3cret-word"), "");
  EXPECT_NE(hidden("Basic eDpzM2NyZXQtd29yZA==", "s3cret-word"), "");
  EXPECT_NE(hidden("Ym9iOnMzY3Jl\nbGQtd29yZA Ym9iOnMzY3Jl\ndC13b3Jk", "s3cret-word"), "");
  EXPECT_EQ(hidden("7333637265742d776f7264", "s3cret-word"), "[redacted]");
  EXPECT_EQ(hidden("user bob, password s3cret-word", "Ym9iOnMzY3JldC13b3Jk"), "user bob, password [redacted]");
}

TEST(Redaction, finds_the_token_in_base32) {
  for (const char* text : {"OMZWG4TFOQWXO33SMQ", "omzwg4tfoqwxo33smq", "OMZW G4TF OQWX O33S MQ", "OMZWG4TF\nOQWXO33SMQ"})
    EXPECT_EQ(without_token(fmt::format("({}======)", text), "s3cret-word"), "([redacted]======)") << text;
  // bob:s3cret-word, x:s3cret-word and at:s3cret-word: other alignments.
  for (const char* text : {"MJXWEOTTGNRXEZLUFV3W64TE", "PA5HGM3DOJSXILLXN5ZGI===", "MF2DU4ZTMNZGK5BNO5XXEZA="})
    EXPECT_THAT(without_token(text, "s3cret-word"), testing::HasSubstr("[redacted]")) << text;
}

TEST(Redaction, finds_the_token_in_lists_of_character_codes) {
  for (const char* codes :
       {"115, 51, 99, 114, 101, 116, 45, 119, 111, 114, 100", "115,51,99,114,101,116,45,119,111,114,100",
        "115 51 99 114 101 116 45 119 111 114 100", "115\n51\n99\n114\n101\n116\n45\n119\n111\n114\n100",
        "73:33:63:72:65:74:2d:77:6f:72:64", "73 33 63 72 65 74 2D 77 6F 72 64",
        "0x73, 0x33, 0x63, 0x72, 0x65, 0x74, 0x2d, 0x77, 0x6f, 0x72, 0x64", "0073 0033 0063 0072 0065 0074 002d 0077 006f 0072 0064"})
    EXPECT_EQ(without_token(fmt::format("bytes [{}], 7", codes), "s3cret-word"), "bytes [[redacted]], 7") << codes;
  EXPECT_EQ(without_token("shape [115, 51, 99, 114, 101]", "s3cret-word"), "shape [115, 51, 99, 114, 101]") << "a part of it";
  EXPECT_EQ(without_token("U+0073 U+0033 U+0063 U+0072 U+0065 U+0074", "s3cret"), "U+[redacted]");
}

TEST(Redaction, finds_full_width_forms_and_the_token_backwards) {
  EXPECT_EQ(without_token("Bearer \uff53\uff13\uff43\uff52\uff45\uff54\uff0d\uff57\uff4f\uff52\uff44!", "s3cret-word"),
            "Bearer [redacted]!");
  EXPECT_EQ(without_token(R"(Bearer \uff53\uff13\uFF43ret-word!)", "s3cret-word"), "Bearer [redacted]!");
  EXPECT_EQ(without_token("Bearer drow-terc3s!", "s3cret-word"), "Bearer [redacted]!");
  EXPECT_EQ(without_token("\xef", "s3cret-word"), "\xef");
  EXPECT_EQ(without_token("\xef\xbc", "s3cret-word"), "\xef\xbc");
}

TEST(Redaction, replaces_pieces_of_a_token_that_was_cut_off) {
  const std::string secret = "eyJhbGciOiJub25lIn0.c29tZXRoaW5nIHNlY3JldA.c2lnbmF0dXJl";
  for (size_t length = 12; length <= secret.size(); ++length) {
    EXPECT_EQ(without_token("got Bearer " + secret.substr(0, length), secret), "got Bearer [redacted]") << length;
    EXPECT_EQ(without_token(">>" + secret.substr(secret.size() - length), secret), ">>[redacted]") << length;
  }
}

TEST(Redaction, takes_a_short_token_for_a_word_alone) {
  EXPECT_EQ(without_token("Bearer tok, token, t%6Fk, Bearer%20tok", "tok"), "Bearer [redacted], token, [redacted], Bearer%20[redacted]");
  EXPECT_EQ(without_token("Basic Ym9iOnRvaw==", "tok").find("OnRvaw"), std::string::npos);
}

}  // namespace
}  // namespace deepgap
