#include "backends/http/redaction.h"

#include <algorithm>
#include <bitset>
#include <cctype>
#include <cstddef>
#include <list>
#include <numeric>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

constexpr std::string_view in_its_place = "[redacted]";
constexpr size_t piece = 12;     // characters of a longer token that are a secret by themselves
constexpr size_t short_one = 6;  // a token with fewer characters also stands in other words by chance
constexpr int most_levels = 4;   // levels of nested escapes

bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool is_visible(char c) { return std::isgraph(static_cast<unsigned char>(c)) != 0; }
char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
unsigned hex_value(char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : lower(c) - 'a' + 10); }

// The ASCII character of a full-width form, such as the letter U+FF33; other characters beyond ASCII are none of a token.
char ascii_of(unsigned code) {
  constexpr unsigned first_wide = 0xff01, last_wide = 0xff5e, to_ascii = 0xfee0;
  if (code >= first_wide && code <= last_wide) code -= to_ascii;
  return code < 128 ? static_cast<char>(code) : '\0';
}

// Text with the place in the server's text that each of its characters comes from. Only what a token may consist of is in it.
struct Reading {
  std::string text;
  std::vector<std::pair<size_t, size_t>> from;  // [begin, end) of each character
  void add(char c, size_t begin, size_t end) {
    if (!is_visible(c)) return;
    text += c;
    from.emplace_back(begin, end);
  }
};

struct Escape {
  char value;
  size_t length;
};

std::optional<Escape> numeral(std::string_view text, size_t at, size_t digits, unsigned base = 16) {
  if (at + digits > text.size()) return std::nullopt;
  unsigned value = 0;
  for (size_t i = at; i < at + digits; ++i) {
    if (!is_hex(text[i]) || hex_value(text[i]) >= base) return std::nullopt;
    value = value * base + hex_value(text[i]);
  }
  return Escape{ascii_of(value), at + digits};
}

// "\u{73}", as JavaScript and Rust write it.
std::optional<Escape> braced_escape(std::string_view text) {
  const size_t end = text.substr(0, 10).find('}');
  const auto read = end == std::string_view::npos || end < 4 ? std::nullopt : numeral(text, 3, end - 3);
  return read ? std::optional(Escape{read->value, end + 1}) : std::nullopt;
}

std::optional<Escape> backslash_escape(std::string_view text) {
  if (text.size() < 2) return std::nullopt;
  if (text.starts_with("\\u{")) return braced_escape(text);
  if (const auto octal = numeral(text, 1, 3, 8)) return octal;
  if (text[1] == 'u') return numeral(text, 2, 4);
  if (text[1] == 'x') return numeral(text, 2, 2);
  if (std::string_view("nrtbfv").find(text[1]) != std::string_view::npos) return Escape{'\0', 2};
  return Escape{text[1], 2};
}

std::optional<Escape> html_escape(std::string_view text) {
  constexpr std::pair<std::string_view, char> names[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
  for (const auto& [name, value] : names)
    if (text.starts_with(name)) return Escape{value, name.size()};
  const bool hex = text.starts_with("&#x") || text.starts_with("&#X");
  const size_t end = text.substr(0, 10).find(';'), begin = hex ? 3 : 2;
  if (!text.starts_with("&#") || end == std::string_view::npos || end == begin) return std::nullopt;
  unsigned value = 0;
  for (const char c : text.substr(begin, end - begin)) {
    if (hex ? !is_hex(c) : std::isdigit(static_cast<unsigned char>(c)) == 0) return std::nullopt;
    value = value * (hex ? 16 : 10) + hex_value(c);
  }
  return Escape{ascii_of(value), end + 1};
}

std::optional<Escape> escape_at(std::string_view text) {
  switch (text.front()) {
    case '\\':
      return backslash_escape(text);
    case '%':
      return text.starts_with("%u") ? numeral(text, 2, 4) : numeral(text, 1, 2);
    case '=':  // quoted-printable
      return numeral(text, 1, 2);
    case '&':
      return html_escape(text);
  }
  return std::nullopt;
}

// One level of escapes less.
Reading unescaped(const Reading& reading) {
  Reading result;
  for (size_t i = 0; i < reading.text.size();) {
    const Escape read = escape_at(std::string_view(reading.text).substr(i)).value_or(Escape{reading.text[i], 1});
    result.add(read.value, reading.from[i].first, reading.from[i + read.length - 1].second);
    i += read.length;
  }
  return result;
}

// Full-width forms have three bytes in UTF-8, of 4, 6 and 6 bits.
Reading read(std::string_view text) {
  Reading reading;
  const auto bits = [&](size_t at) { return static_cast<unsigned>(static_cast<unsigned char>(text[at]) & 0x3f); };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\xef' && i + 2 < text.size()) reading.add(ascii_of(0xf000 | bits(i + 1) << 6 | bits(i + 2)), i, i + 3);
    reading.add(text[i], i, i + 1);
  }
  return reading;
}

// The characters whose codes stand in the text one by one: 115, 51, 99 in decimal or 0x73 0x33, 73:33 or U+0073 U+0033 in hexadecimal
// digits. An end of line stands where two are far apart.
Reading read_codes(std::string_view text, unsigned base) {
  constexpr size_t apart = 8;
  Reading reading;
  for (size_t begin = 0, last = 0; begin < text.size();) {
    size_t end = begin;
    while (end < text.size() && is_alnum(text[end])) ++end;
    std::string_view digits = text.substr(begin, end - begin);
    for (const std::string_view prefix : {"0x", "0X", "00"})
      if (base == 16 && digits.size() == 4 && digits.starts_with(prefix)) digits.remove_prefix(2);
    const bool fits = base == 16 ? digits.size() == 2 : digits.size() >= 2 && digits.size() <= 3;
    if (const auto code = fits ? numeral(digits, 0, digits.size(), base) : std::nullopt; code && is_visible(code->value)) {
      if (begin > last + apart) {
        reading.text += '\n';
        reading.from.emplace_back(last, last);
      }
      reading.add(code->value, begin, end);
      last = end;
    }
    begin = end + 1;
  }
  return reading;
}

bool is_base64(char c) { return is_alnum(c) || c == '+' || c == '/' || c == '-' || c == '_'; }

unsigned base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<unsigned>(c - 'A');
  if (c >= 'a' && c <= 'z') return static_cast<unsigned>(c - 'a') + 26;
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0') + 52;
  return c == '+' || c == '-' ? 62 : 63;
}

bool is_base32(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || (c >= '2' && c <= '7'); }
unsigned base32_value(char c) { return static_cast<unsigned>(c <= '7' ? c - '2' + 26 : lower(c) - 'a'); }

// The bytes that digits of so many bits each stand for.
template <typename Value>
std::string decoded(std::string_view digits, unsigned bits, const Value& value) {
  std::string bytes;
  unsigned kept = 0, count = 0;
  for (const char c : digits) {
    kept = (kept << bits | value(c)) & 0xffff;
    count += bits;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(kept >> count & 0xff);
  }
  return bytes;
}

// A word that must not be shown, in lower case, and its pieces.
class Secret {
 public:
  explicit Secret(std::string word) : word_(std::move(word)), length_(std::min(word_.size(), piece)) {
    for (size_t i = 0; i + length_ <= word_.size(); ++i) {
      pieces_.insert(std::string_view(word_).substr(i, length_));
      beginnings_[pair_at(std::string_view(word_).substr(i))] = true;
    }
  }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;

  size_t shortest() const { return length_; }
  bool is_short() const { return word_.size() < short_one; }
  bool begins(std::string_view text) const { return beginnings_[pair_at(text)] && pieces_.contains(text.substr(0, length_)); }

 private:
  // The first character, and the second where pieces have one.
  size_t pair_at(std::string_view text) const {
    return static_cast<unsigned char>(text[0]) | (length_ > 1 ? static_cast<size_t>(static_cast<unsigned char>(text[1])) << 8 : 0);
  }

  std::string word_;
  size_t length_;
  std::unordered_set<std::string_view> pieces_;
  std::bitset<65536> beginnings_;  // which two bytes a piece begins with: long texts have few such places
};

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), lower);
  return text;
}

// Marks which characters of the server's text are part of a secret.
class Marks {
 public:
  explicit Marks(size_t size) : marked_(size) {}

  void find(const Secret& secret, const Reading& reading) {
    const std::string text = lower_case(reading.text);
    const auto joined = [&](size_t i) {
      return i > 0 && i < text.size() && is_alnum(text[i - 1]) && is_alnum(text[i]) && reading.from[i - 1].second == reading.from[i].first;
    };
    find_pieces(secret, text, joined, [&](size_t begin, size_t end) { mark(reading, begin, end); });
    if (secret.shortest() < least_encoded) return;
    find_encoded(secret, reading, 6, is_base64, base64_value);
    find_encoded(secret, reading, 5, is_base32, base32_value);
    find_encoded(secret, reading, 4, is_hex, hex_value);
  }
  // Among characters given by their codes, which are never parts of a word.
  void find_codes(const Secret& secret, const Reading& codes) {
    if (secret.shortest() < least_encoded) return;
    find_pieces(
        secret, lower_case(codes.text), [](size_t) { return false; }, [&](size_t begin, size_t end) { mark(codes, begin, end); });
  }
  std::string replaced(std::string_view text) const {
    std::string result;
    for (size_t i = 0; i < text.size(); ++i) {
      if (!marked_[i]) result += text[i];
      if (marked_[i] && (i == 0 || !marked_[i - 1])) result += in_its_place;
    }
    return result;
  }

 private:
  static constexpr size_t least_encoded = 3;  // bytes; fewer stand in any digits by chance

  // `joined(i)`: characters i - 1 and i belong to one word.
  template <typename Joined, typename Found>
  static void find_pieces(const Secret& secret, std::string_view text, const Joined& joined, const Found& found) {
    for (size_t i = 0; i + secret.shortest() <= text.size(); ++i) {
      const size_t end = i + secret.shortest();
      if (secret.begins(text.substr(i)) && !(secret.is_short() && (joined(i) || joined(end)))) found(i, end);
    }
  }

  // Characters passed over between those (line ends) are marked with them.
  void mark(const Reading& reading, size_t begin, size_t end) {
    std::fill(marked_.begin() + static_cast<std::ptrdiff_t>(reading.from[begin].first),
              marked_.begin() + static_cast<std::ptrdiff_t>(reading.from[end - 1].second), true);
  }

  // In runs of digits, wherever in them the encoding begins.
  template <typename Is, typename Value>
  void find_encoded(const Secret& secret, const Reading& reading, unsigned bits, const Is& is, const Value& value) {
    const std::string& text = reading.text;
    for (size_t begin = 0; begin < text.size();) {
      const auto first = text.begin() + static_cast<std::ptrdiff_t>(begin);
      const size_t length = static_cast<size_t>(std::find_if_not(first, text.end(), is) - first);
      for (size_t shift = 0; shift < 8 / std::gcd(8U, bits) && (length - std::min(shift, length)) * bits / 8 >= secret.shortest();
           ++shift) {
        const std::string bytes = lower_case(decoded(std::string_view(text).substr(begin + shift, length - shift), bits, value));
        const auto joined = [&](size_t i) { return i > 0 && i < bytes.size() && is_alnum(bytes[i - 1]) && is_alnum(bytes[i]); };
        find_pieces(secret, bytes, joined, [&](size_t from, size_t end) {
          mark(reading, begin + shift + from * 8 / bits, begin + shift + (end * 8 + bits - 1) / bits);
        });
      }
      begin += length + 1;
    }
  }

  std::vector<bool> marked_;
};

// The token, how it reads with its own escapes taken away, and, where it is itself base64 of user:password, these; each also backwards.
std::vector<std::string> secrets_in(std::string_view token) {
  std::vector<std::string> words{std::string(token)};
  for (Reading reading = unescaped(read(token)); words.size() < most_levels && reading.text != words.back(); reading = unescaped(reading))
    words.push_back(reading.text);
  const size_t digits = std::min(token.find_last_not_of('=') + 1, token.size());
  if (digits > 0 && std::all_of(token.begin(), token.begin() + static_cast<std::ptrdiff_t>(digits), is_base64)) {
    const std::string bytes = decoded(token.substr(0, digits), 6, base64_value);
    const size_t colon = bytes.find(':');
    if (colon != std::string::npos && std::all_of(bytes.begin(), bytes.end(), is_visible))
      words.insert(words.end(), {bytes, bytes.substr(colon + 1)});
  }
  std::erase_if(words, [](const std::string& word) { return word.empty(); });
  for (size_t i = 0, count = words.size(); i < count; ++i)
    if (words[i].size() >= short_one) words.emplace_back(words[i].rbegin(), words[i].rend());
  return words;
}

}  // namespace

std::string without_token(std::string_view text, std::string_view token) {
  if (token.empty()) return std::string(text);
  Marks marks(text.size());
  std::list<Secret> secrets;
  for (const std::string& word : secrets_in(token)) secrets.emplace_back(lower_case(word));
  for (const unsigned base : {10U, 16U}) {
    const Reading codes = read_codes(text, base);
    for (const Secret& secret : secrets) marks.find_codes(secret, codes);
  }
  Reading reading = read(text);
  for (int level = 0; level < most_levels; ++level) {
    for (const Secret& secret : secrets) marks.find(secret, reading);
    Reading next = unescaped(reading);
    if (next.text == reading.text) break;
    reading = std::move(next);
  }
  return marks.replaced(text);
}

}  // namespace deepgap
