#include "model/decoder/tokenizer.h"

#include "base/parse_json.h"
#include "base/text.h"
#include "model/decoder/text_split.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <queue>

namespace deepgap {
namespace {

// The kinds of tokens that stand in a text as they are: control tokens and those that a user defined.
constexpr int64_t control_kind = 3, user_kind = 4;

// GPT-2 writes each byte as a printable character: itself, or one from U+0100 on.
std::array<std::string, 256> make_byte_characters() {
  std::array<std::string, 256> characters;
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    const int code = printable ? byte : next++;
    std::string& text = characters[static_cast<size_t>(byte)];
    if (code < 0x80) {
      text = static_cast<char>(code);
    } else {
      text = {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
    }
  }
  return characters;
}

const std::array<std::string, 256>& byte_characters() {
  static const std::array<std::string, 256> characters = make_byte_characters();
  return characters;
}

class BytePairTokenizer final : public Tokenizer {
 public:
  explicit BytePairTokenizer(const TokenizerData& data) : data_(data) {
    for (size_t id = 0; id < data.tokens.size(); ++id) ids_.emplace(data.tokens[id], static_cast<int64_t>(id));
    for (size_t rank = 0; rank < data.merges.size(); ++rank) ranks_.emplace(data.merges[rank], static_cast<int64_t>(rank));
    for (size_t id = 0; id < data.kinds.size(); ++id)
      if ((data.kinds[id] == control_kind || data.kinds[id] == user_kind) && !data.tokens[id].empty())
        special_[data.tokens[id].front()].push_back(static_cast<int64_t>(id));
    // Where one begins as another does, the longer one is meant.
    for (auto& [first, ids] : special_)
      std::sort(ids.begin(), ids.end(), [&](int64_t a, int64_t b) { return token(a).size() > token(b).size(); });
    for (size_t byte = 0; byte < 256; ++byte) bytes_.emplace(byte_characters()[byte], static_cast<char>(byte));
  }

  std::vector<int64_t> encode(std::string_view text) const override {
    std::vector<int64_t> ids;
    if (data_.adds_begin && data_.begin >= 0) ids.push_back(data_.begin);
    size_t plain = 0;
    for (size_t at = 0; at < text.size();) {
      const int64_t found = special_at(text.substr(at));
      if (found < 0) {
        ++at;
        continue;
      }
      encode_plain(text.substr(plain, at - plain), ids);
      ids.push_back(found);
      at += token(found).size();
      plain = at;
    }
    encode_plain(text.substr(plain), ids);
    return ids;
  }

  std::string decode(std::span<const int64_t> tokens) const override {
    std::string text;
    for (const int64_t id : tokens) {
      if (id < 0 || id >= static_cast<int64_t>(data_.tokens.size())) continue;
      const std::string& token = this->token(id);
      for (size_t i = 0; i < token.size();) {
        const size_t length = static_cast<uint8_t>(token[i]) < 0x80 ? 1 : static_cast<uint8_t>(token[i]) < 0xe0 ? 2 : 3;
        const auto byte = bytes_.find(token.substr(i, length));
        text += byte == bytes_.end() ? token.substr(i, length) : std::string(1, byte->second);
        i += length;
      }
    }
    return text;
  }

 private:
  const std::string& token(int64_t id) const { return data_.tokens[static_cast<size_t>(id)]; }

  int64_t special_at(std::string_view text) const {
    const auto candidates = special_.find(text.front());
    if (candidates == special_.end()) return -1;
    for (const int64_t id : candidates->second)
      if (text.starts_with(token(id))) return id;
    return -1;
  }

  void encode_plain(std::string_view text, std::vector<int64_t>& ids) const {
    if (text.empty()) return;
    for (const std::string_view piece : split_text(data_.split, text)) merge(piece, ids);
  }

  struct Symbol {
    std::string text;
    int64_t previous = -1, next = -1;  // -1: none
  };
  // Two symbols that may become one: the pair that comes first in the list of merges, and of equal ones the leftmost.
  struct Pair {
    int64_t rank = 0, left = 0, right = 0;
    size_t length = 0;  // bytes of both together when the pair was found
    bool operator>(const Pair& other) const { return std::pair(rank, left) > std::pair(other.rank, other.left); }
  };
  using Pairs = std::priority_queue<Pair, std::vector<Pair>, std::greater<>>;

  void consider(const std::vector<Symbol>& symbols, int64_t left, int64_t right, Pairs& pairs) const {
    if (left < 0 || right < 0) return;
    const std::string &a = symbols[static_cast<size_t>(left)].text, &b = symbols[static_cast<size_t>(right)].text;
    const auto found = ranks_.find(a + " " + b);
    if (found != ranks_.end()) pairs.push({found->second, left, right, a.size() + b.size()});
  }

  void merge(std::string_view piece, std::vector<int64_t>& ids) const {
    std::vector<Symbol> symbols;
    for (const char byte : piece) {
      const auto at = static_cast<int64_t>(symbols.size());
      symbols.push_back({byte_characters()[static_cast<uint8_t>(byte)], at - 1, at + 1});
    }
    symbols.back().next = -1;
    Pairs pairs;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) consider(symbols, static_cast<int64_t>(i), static_cast<int64_t>(i + 1), pairs);
    while (!pairs.empty()) {
      const Pair pair = pairs.top();
      pairs.pop();
      Symbol &left = symbols[static_cast<size_t>(pair.left)], &right = symbols[static_cast<size_t>(pair.right)];
      // One of them may have been merged since.
      if (left.text.empty() || right.text.empty() || left.next != pair.right || left.text.size() + right.text.size() != pair.length)
        continue;
      left.text += right.text;
      right.text.clear();
      left.next = right.next;
      if (left.next >= 0) symbols[static_cast<size_t>(left.next)].previous = pair.left;
      consider(symbols, left.previous, pair.left, pairs);
      consider(symbols, pair.left, left.next, pairs);
    }
    for (int64_t at = 0; at >= 0; at = symbols[static_cast<size_t>(at)].next) add_symbol(symbols[static_cast<size_t>(at)].text, ids);
  }

  // A vocabulary may lack what its merges make: then its bytes stand for it. A byte that it lacks, such as a control character, is left
  // out.
  void add_symbol(const std::string& text, std::vector<int64_t>& ids) const {
    if (const auto found = ids_.find(text); found != ids_.end()) return ids.push_back(found->second);
    for (size_t i = 0; i < text.size();) {
      const size_t length = static_cast<uint8_t>(text[i]) < 0x80 ? 1 : 2;
      if (const auto byte = ids_.find(text.substr(i, length)); byte != ids_.end()) ids.push_back(byte->second);
      i += length;
    }
  }

  const TokenizerData data_;
  std::unordered_map<std::string, int64_t> ids_, ranks_;  // ranks_: by "left right"
  std::map<char, std::vector<int64_t>> special_;          // by their first byte
  std::unordered_map<std::string, char> bytes_;           // by the character that stands for each
};

class WordTokenizer final : public Tokenizer {
 public:
  explicit WordTokenizer(int64_t vocabulary) : vocabulary_(static_cast<uint64_t>(vocabulary)) {}

  std::vector<int64_t> encode(std::string_view text) const override {
    std::vector<int64_t> ids;
    for (size_t at = 0; at < text.size();) {
      const size_t begin = text.find_first_not_of(" \t\r\n", at);
      if (begin == std::string_view::npos) break;
      at = std::min(text.find_first_of(" \t\r\n", begin), text.size());
      ids.push_back(static_cast<int64_t>(hash(text.substr(begin, at - begin)) % vocabulary_));
    }
    return ids;
  }
  std::string decode(std::span<const int64_t>) const override { return ""; }

 private:
  // FNV-1a, the same on every machine.
  static uint64_t hash(std::string_view word) {
    uint64_t value = 14695981039346656037ULL;
    for (const char c : word) value = (value ^ static_cast<uint8_t>(c)) * 1099511628211ULL;
    return value ^ value >> 32;
  }

  uint64_t vocabulary_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_file_tokenizer(const TokenizerData& data) {
  if (data.model != "gpt2")
    throw Error(ErrorKind::refused,
                fmt::format("the tokenizer '{}' is not supported, only byte-level byte-pair encoding ('gpt2'): add --axis "
                            "tokenizer=words, which gives each word a made-up token",
                            data.model));
  if (!knows_text_split(data.split))
    throw Error(ErrorKind::refused,
                fmt::format("the tokenizer splits text as '{}', which is not one of {}: add --axis tokenizer=words, which "
                            "gives each word a made-up token",
                            data.split, join(text_split_names(), ", ")));
  return std::make_unique<BytePairTokenizer>(data);
}

std::unique_ptr<Tokenizer> make_word_tokenizer(int64_t vocabulary) { return std::make_unique<WordTokenizer>(vocabulary); }

std::string conversation_text(const TokenizerData& data, const std::string& messages) {
  using json = nlohmann::json;
  if (data.chat_template.find("<|im_start|>") == std::string::npos)
    throw Error(ErrorKind::refused,
                "a conversation needs a chat template of ChatML's form (<|im_start|>), which this network does not have: "
                "give prompts of text");
  const json list = parse_json(messages);
  if (!list.is_array()) throw Error(ErrorKind::internal, "a conversation is not a list of messages");
  std::string text;
  // Some templates put a message of the system before the first one that is not of it.
  constexpr std::string_view before = "'<|im_start|>system\n";
  const size_t own = data.chat_template.find(before);
  if (own != std::string::npos && (list.empty() || list.front().value("role", "") != "system")) {
    const size_t begin = own + 1, end = data.chat_template.find('\'', begin);
    text = data.chat_template.substr(begin, end == std::string::npos ? 0 : end - begin);
  }
  for (const json& message : list)
    text += fmt::format("<|im_start|>{}\n{}<|im_end|>\n", message.value("role", ""), message.value("content", ""));
  return text + "<|im_start|>assistant\n";
}

}  // namespace deepgap
