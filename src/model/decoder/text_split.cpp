#include "model/decoder/text_split.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace deepgap {
namespace {

struct CodeRange {
  uint32_t first, last;
};
#include "model/decoder/unicode_ranges.inc"

bool within(std::span<const CodeRange> ranges, uint32_t code) {
  const auto next =
      std::upper_bound(ranges.begin(), ranges.end(), code, [](uint32_t c, const CodeRange& range) { return c < range.first; });
  return next != ranges.begin() && code <= std::prev(next)->last;
}

bool is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
         c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

// The rules by which a family cuts.
struct Rules {
  const char* name;
  bool digits_first;    // each digit is cut out before anything else
  int digits_together;  // digits of a piece at most; 0: any number
  bool qwen;            // words may begin with any sign, and line ends stay with signs: the expression of Qwen2 and Llama 3
};
constexpr std::array<Rules, 6> families{{{"gpt-2", false, 0, false},
                                         {"gpt2", false, 0, false},
                                         {"smollm", true, 1, false},
                                         {"qwen2", false, 1, true},
                                         {"llama-bpe", false, 3, true},
                                         {"llama3", false, 3, true}}};

enum class Class : uint8_t { letter, number, space, line_end, sign, end };

class Splitter {
 public:
  Splitter(const Rules& rules, std::string_view text) : rules_(rules), text_(text) { decode(); }

  std::vector<std::string_view> pieces() {
    for (size_t at = 0; at < codes_.size();) {
      end_ = rules_.digits_first ? end_of_segment(at) : codes_.size();
      for (; at < end_;) {
        const size_t next = rules_.qwen ? next_qwen(at) : next_gpt2(at);
        pieces_.push_back(text_.substr(starts_[at], starts_[next] - starts_[at]));
        at = next;
      }
    }
    return std::move(pieces_);
  }

 private:
  void decode() {
    for (size_t i = 0; i < text_.size();) {
      const auto lead = static_cast<uint8_t>(text_[i]);
      size_t length = lead < 0x80 ? 1 : lead >= 0xf0 && lead < 0xf5 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1;
      uint32_t code = length == 1 ? lead : lead & (0xff >> (length + 1));
      for (size_t k = 1; k < length; ++k) {
        const uint8_t follows = i + k < text_.size() ? static_cast<uint8_t>(text_[i + k]) : 0;
        if ((follows & 0xc0) != 0x80) {
          length = 1;
          code = 0xfffd;
          break;
        }
        code = code << 6 | (follows & 0x3f);
      }
      codes_.push_back(code);
      starts_.push_back(i);
      i += length;
    }
    starts_.push_back(text_.size());
  }

  // A digit, or all up to the next one: each is cut as if it were a text of its own.
  size_t end_of_segment(size_t at) const {
    if (within(number_ranges, codes_[at])) return at + 1;
    while (at < codes_.size() && !within(number_ranges, codes_[at])) ++at;
    return at;
  }

  Class kind(size_t at) const {
    if (at >= end_) return Class::end;
    const uint32_t code = codes_[at];
    if (code == '\r' || code == '\n') return Class::line_end;
    if (is_space(code)) return Class::space;
    if (within(letter_ranges, code)) return Class::letter;
    return within(number_ranges, code) ? Class::number : Class::sign;
  }
  bool is_blank(size_t at) const { return kind(at) == Class::space || kind(at) == Class::line_end; }
  size_t run(size_t at, Class wanted) const {
    while (kind(at) == wanted) ++at;
    return at;
  }

  // 's, 't, 're, 've, 'm, 'll, 'd: how many code points; 0: none. Any case where the family says so.
  size_t contraction(size_t at) const {
    if (codes_[at] != '\'') return 0;
    const auto letter = [&](size_t i) -> uint32_t {
      if (i >= end_) return 0;
      return rules_.qwen && codes_[i] >= 'A' && codes_[i] <= 'Z' ? codes_[i] + 32 : codes_[i];
    };
    const uint32_t first = letter(at + 1), second = letter(at + 2);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
    if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l')) return 3;
    return 0;
  }

  // \s+(?!\S)|\s+ : blanks but the last, which goes with what follows, unless nothing does or it is alone.
  size_t blanks(size_t at) const {
    size_t end = at;
    while (is_blank(end)) ++end;
    return kind(end) == Class::end || end == at + 1 ? end : end - 1;
  }

  size_t digits(size_t at) const {
    size_t end = run(at, Class::number);
    if (rules_.digits_together > 0) end = std::min(end, at + static_cast<size_t>(rules_.digits_together));
    return end;
  }

  // '(s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  size_t next_gpt2(size_t at) const {
    if (const size_t length = contraction(at); length > 0) return at + length;
    const size_t first = codes_[at] == ' ' && !is_blank(at + 1) && kind(at + 1) != Class::end ? at + 1 : at;
    switch (kind(first)) {
      case Class::letter:
        return run(first, Class::letter);
      case Class::number:
        return digits(first);
      case Class::sign:
        return run(first, Class::sign);
      default:
        return blanks(at);
    }
  }

  // '(?i:s|t|re|ve|m|ll|d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
  size_t next_qwen(size_t at) const {
    if (const size_t length = contraction(at); length > 0) return at + length;
    const Class first = kind(at);
    if (first == Class::letter) return run(at, Class::letter);
    if ((first == Class::space || first == Class::sign) && kind(at + 1) == Class::letter) return run(at + 1, Class::letter);
    if (first == Class::number) return digits(at);
    const size_t sign = codes_[at] == ' ' && kind(at + 1) == Class::sign ? at + 1 : at;
    if (kind(sign) == Class::sign) return run(run(sign, Class::sign), Class::line_end);
    size_t end = at, after_line = at;
    for (; is_blank(end); ++end)
      if (kind(end) == Class::line_end) after_line = end + 1;
    return after_line > at ? after_line : blanks(at);
  }

  const Rules& rules_;
  std::string_view text_;
  std::vector<uint32_t> codes_;
  std::vector<size_t> starts_;  // where each code point begins, and the end
  size_t end_ = 0;              // end of the piece that is being cut
  std::vector<std::string_view> pieces_;
};

const Rules* find_rules(const std::string& name) {
  const auto* found = std::find_if(families.begin(), families.end(), [&](const Rules& one) { return one.name == name; });
  return found == families.end() ? nullptr : found;
}

}  // namespace

bool knows_text_split(const std::string& name) { return find_rules(name) != nullptr; }

std::vector<std::string> text_split_names() {
  std::vector<std::string> names;
  for (const Rules& one : families) names.emplace_back(one.name);
  return names;
}

std::vector<std::string_view> split_text(const std::string& name, std::string_view text) {
  const Rules* rules = find_rules(name);
  if (rules == nullptr) throw Error(ErrorKind::refused, fmt::format("text cannot be split as '{}' does", name));
  return Splitter(*rules, text).pieces();
}

}  // namespace deepgap
